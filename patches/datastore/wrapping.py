"""Lazy reads for one query or one client, with nothing patched."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Literal, Protocol, TypeVar, cast, overload

from google.cloud.datastore import client as datastore_client, helpers
from google.cloud.datastore.query import Iterator, Query

from lazyentity._backend import EntityReader
from lazyentity._dispatch import hint_for, register_unboxed
from lazyentity._environment import EAGER_SWITCH, is_set
from lazyentity._mode import require_flag
from lazyentity.codec.describing import describe_type, safe_repr
from lazyentity.patches import adapters
from lazyentity.patches.clients import wrapping_of
from lazyentity.patches.datastore.reads import (
    ApiProperty,
    lazy_api,
    look_up,
    next_page,
    read_message,
    unboxed_of_query,
)
from lazyentity.patches.datastore.seams import CLIENT
from lazyentity.readers import LAZY, STOCK, prepared_reader

# Version 2.20 came with transactions that their first read begins.
_READS_BEGIN = hasattr(helpers, "get_transaction_options")


def _scope(transaction: Any) -> dict[str, Any]:
    """Return the argument of ``_extended_lookup()`` for a transaction or None, by its name."""
    if _READS_BEGIN:
        return {"transaction": transaction}
    return {"transaction_id": transaction and transaction.id}


class _WithCollections(Protocol):
    """A client of documents, or a reference to one, to type checkers."""

    @property
    def collection(self) -> Any: ...


class _Streamed(Protocol):
    """A query of documents, or a collection of them, to type checkers."""

    @property
    def stream(self) -> Any: ...


# Not the classes of the other client: where it is not installed, they would be Any, as the bound.
_Wrapped = TypeVar("_Wrapped", bound=datastore_client.Client | Query | _WithCollections | _Streamed)


class _LazyWrapper:
    """Marks the classes that :func:`wrap` makes.

    Attributes:
        _lazyentity_reader: makes the entities. In a slot, because the object shares its instance
            dictionary with the wrapped one.
    """

    __slots__ = ("_lazyentity_reader",)

    _lazyentity_reader: EntityReader


class _LazyClient(_LazyWrapper, datastore_client.Client):
    """The differences of a wrapped client; a caller's own subclass goes before it."""

    @ApiProperty
    def _datastore_api(self) -> Any:
        api = super()._datastore_api
        if not self._lazyentity_reader.is_stock:
            adapters.install()
        return lazy_api(api)

    def get_multi(
        self,
        keys: Any,
        missing: Any = None,
        deferred: Any = None,
        transaction: Any = None,
        eventual: bool = False,
        retry: Any = None,
        timeout: Any = None,
        read_time: Any = None,
    ) -> list[Any]:
        """As ``Client.get_multi``, returning lazy entities."""
        options = {"missing": missing, "deferred": deferred, "eventual": eventual}
        options.update(retry=retry, timeout=timeout, read_time=read_time)
        reader = self._lazyentity_reader
        entities = look_up(self, keys, {**options, "transaction": transaction}, reader)
        if entities is not None:
            return entities
        # Client.get_multi converts with a function that only a global patch could replace. So this
        # repeats its code around the read itself, which is the client's own _extended_lookup().
        if not keys:
            return []
        if any(key.project != self.project for key in keys):
            raise ValueError("Keys do not match project")
        found = datastore_client._extended_lookup(
            datastore_api=self._datastore_api,
            project=self.project,
            key_pbs=[key.to_protobuf() for key in keys],
            database=self.database,
            **_scope(self.current_transaction if transaction is None else transaction),
            **options,
        )
        if missing is not None:
            missing[:] = [read_message(message, reader) for message in missing]
        if deferred is not None:
            deferred[:] = [helpers.key_from_protobuf(message) for message in deferred]
        # As the client does: somebody else's conversion may tell the two apart.
        return [read_message(message._pb, reader) for message in found]

    def query(self, **kwargs: Any) -> Any:
        """As ``Client.query``, returning a query that is wrapped as well."""
        query = super().query(**kwargs)  # type: ignore[no-untyped-call]  # upstream is untyped
        return _wrap(query, self._lazyentity_reader)


class _LazyIterator(Iterator):
    """The iterator of a wrapped query.

    Attributes:
        _lazyentity_reader: makes the entities.
    """

    _lazyentity_reader: EntityReader

    def _next_page(self) -> Any:
        # item_to_value is public: a function of the application gets each message.
        reader = self._lazyentity_reader
        page = next_page(self, reader) if self.item_to_value is _convert else None
        return super()._next_page() if page is None else page  # type: ignore[no-untyped-call]  # upstream is untyped


def _convert(iterator: Any, message: Any) -> Any:
    return read_message(message, iterator._lazyentity_reader)


class _LazyQuery(_LazyWrapper, Query):
    """The differences of a wrapped query; a caller's own subclass goes before it."""

    def fetch(self, *args: Any, **kwargs: Any) -> Any:
        """As ``Query.fetch``; the iterator gives lazy entities."""
        reader = self._lazyentity_reader
        if not reader.is_stock:
            adapters.install()
        iterator = super().fetch(*args, **kwargs)  # type: ignore[no-untyped-call]  # upstream is untyped
        if issubclass(type(iterator.client), datastore_client.Client):
            iterator.client = _wrap(iterator.client, reader)
        iterator.item_to_value = _convert
        iterator._lazyentity_reader = reader
        if type(iterator) is not Iterator:
            return iterator
        made: Any = object.__new__(_wrapped_iterator)
        vars(made).update(vars(iterator))
        return made


def reading(client: datastore_client.Client) -> datastore_client.Client:
    """Return a client that reads the same entities as ``client``, and takes no longer.

    Args:
        client: patched, wrapped or stock. A stock one reads stock entities, decoded by lazyentity.
    """
    if isinstance(client, _LazyWrapper) or CLIENT.patch.active:
        return client
    try:
        return _wrap(client, STOCK)  # type: ignore[no-any-return]  # as its argument
    except TypeError:
        # Its class is not a Client, or cannot be wrapped.
        return client


def conversion_of(client: datastore_client.Client) -> Callable[[Any], Any]:
    """Return the function by which a client makes entities of the messages that it reads.

    Args:
        client: patched, wrapped or stock.
    """
    if isinstance(client, _LazyWrapper):
        return functools.partial(read_message, reader=client._lazyentity_reader)
    # Looked up at each call: patching the client replaces it.
    return lambda message: helpers.entity_from_protobuf(message)


def reader_of(client: datastore_client.Client) -> EntityReader | None:
    """Return the reader of a client, patched or wrapped; None if the client makes the entities."""
    if isinstance(client, _LazyWrapper):
        return client._lazyentity_reader
    if CLIENT.patch.active and CLIENT.guard.is_intact():
        return STOCK if CLIENT.patch.eager else LAZY
    return None


def _subclass(kind: type, lazy: type, stock: type) -> type:
    slots = [name for base in kind.__mro__ for name in getattr(base, "__slots__", ())]
    if slots:
        raise TypeError(
            f"wrap() cannot share the state of a {kind.__qualname__}: "
            f"it keeps {slots[0]!r} in a slot"
        )
    # Named like the caller's class, which code that prints or inspects it expects.
    bases = (lazy,) if kind is stock else (kind, lazy)
    return type(kind.__name__, bases, {"__module__": kind.__module__, "__doc__": kind.__doc__})


_wrapped_iterator = _subclass(Iterator, _LazyIterator, Iterator)
register_unboxed(_wrapped_iterator, unboxed_of_query)
_subclasses: dict[type, type] = {}


def _lazy_subclass(kind: type) -> type | None:
    """Return the class that wraps an instance of ``kind``; None, if there is none."""
    if issubclass(kind, _LazyWrapper):
        return kind
    for stock, lazy in ((datastore_client.Client, _LazyClient), (Query, _LazyQuery)):
        if issubclass(kind, stock):
            if kind not in _subclasses:
                _subclasses[kind] = _subclass(kind, lazy, stock)
            return _subclasses[kind]
    return None


def _wrap(query_or_client: Any, reader: EntityReader) -> Any:
    subclass = _lazy_subclass(type(query_or_client))
    if subclass is None:
        raise TypeError(
            "wrap() takes a google.cloud.datastore Query or Client, "
            f"not {describe_type(query_or_client)}{hint_for(query_or_client)}"
        )
    wrapped: Any = object.__new__(subclass)
    wrapped.__dict__ = query_or_client.__dict__
    wrapped._lazyentity_reader = reader
    return wrapped


def _names_of(prefetch: Any) -> tuple[str, ...]:
    """Return the names in ``prefetch`` of :func:`wrap`.

    Raises:
        TypeError: if it is no iterable of names.
    """
    if isinstance(prefetch, str):
        raise TypeError(
            f"wrap() takes prefetch= as a list of names, not one: [{safe_repr(prefetch)}]"
        )
    if not isinstance(prefetch, Iterable):
        raise TypeError(f"wrap() takes prefetch= as a list of names, not {describe_type(prefetch)}")
    names = tuple(prefetch)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"wrap() takes names of type str in prefetch=, not {safe_repr(name)}")
    return names


# Other than eager=True, which takes no other option.
@overload
def wrap(
    query_or_client: _Wrapped,
    *,
    prefetch: Iterable[str] = (),
    strict: bool = False,
    eager: Literal[False] | None = None,
) -> _Wrapped: ...
@overload
def wrap(query_or_client: _Wrapped, *, eager: bool | None) -> _Wrapped: ...
def wrap(
    query_or_client: _Wrapped,
    *,
    prefetch: Iterable[str] = (),
    strict: bool = False,
    eager: bool | None = None,
) -> _Wrapped:
    """Return a query or client like the given one, whose reads return lazy entities.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> client = datastore.Client(project="demo")
    >>> query = lazyentity.wrap(client.query(kind="Order"), prefetch=["amount"])
    >>> amounts = [order["amount"] for order in query.fetch(limit=10)]

    Nothing else in the process changes, not even the given object.

    - The two objects share their state: filters, limits, the current batch or transaction, the
      connection. Setting one of them on either object sets it on both.
    - Queries that a wrapped client makes are wrapped as well, with the same options.
    - A wrapped object is an instance of the class of the given object.
    - Without options, an object that is already wrapped is returned itself. With options, the
      result has only these, and the given object keeps its options.

    The options apply to the entities that the query or the client returns, not to entities embedded
    in them. Stock entities, as returned inside ``eager()``, have everything decoded and refuse
    nothing.

    Args:
        query_or_client: a ``google.cloud.datastore`` ``Query`` or ``Client``, or a query or client
            of another library whose documentation page says that it can be wrapped.
        prefetch: names of properties that are decoded before an entity is returned. Names that an
            entity lacks are skipped, with a warning if the first 100 entities all lack one. A
            malformed property raises when the entity is returned.
        strict: refuse to decode other properties. Decoding a property that was neither prefetched
            nor assigned raises RuntimeError; ``lazyentity.prefetch(entity, name)`` still decodes
            it. ``raw()`` and writing the entity are allowed.
        eager: return stock entities, with everything decoded. None, the default, is True if the
            environment variable ``LAZYENTITY_EAGER`` is set at the time of this call; the other
            options then have no effect. The mode of ``patch()`` does not matter.

    Raises:
        TypeError: if the object is neither a query nor a client, if its class keeps state in slots,
            if ``prefetch`` is a ``str`` or has anything but ``str``, or if ``strict`` or ``eager``
            is not a bool.
        RuntimeError: if the client needs the native backend, and the pure one is in use.
        ValueError: if ``eager`` is given together with ``prefetch`` or ``strict``.
    """
    require_flag("wrap", "strict", strict)
    require_flag("wrap", "eager", eager)
    names = _names_of(prefetch)
    of_other = wrapping_of(query_or_client)
    if of_other is not None:
        return cast(_Wrapped, of_other(query_or_client, names, strict, eager))
    if eager and (names or strict):
        raise ValueError(
            "wrap() takes either eager=True or prefetch= and strict=: stock entities have "
            "everything decoded; leave one of them out"
        )
    is_eager = is_set(EAGER_SWITCH) if eager is None else eager
    if not is_eager:
        adapters.install()
    given: Any = query_or_client
    is_wrapped = isinstance(given, _LazyWrapper) and eager is None and not names and not strict
    reader = STOCK if is_eager else prepared_reader(names, strict)
    return cast(_Wrapped, given if is_wrapped else _wrap(given, reader))
