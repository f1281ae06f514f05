"""Lazy reads for one query or one client, with nothing patched."""

from __future__ import annotations

from typing import Any, TypeVar

from google.cloud.datastore import client as datastore_client
from google.cloud.datastore import helpers
from google.cloud.datastore.query import Query

from lazyentity._types import describe_type
from lazyentity.patches.datastore import convert
from lazyentity.patches.transports import lazy_api

_Wrapped = TypeVar("_Wrapped")


class _LazyReads:
    """Marks the classes that :func:`wrap` makes."""


class _LazyClient(_LazyReads):
    """What a wrapped client does differently. Mixed into a subclass of the client's own class."""

    @property
    def _datastore_api(self) -> Any:
        return lazy_api(super()._datastore_api)  # type: ignore[misc]  # Client has it

    def get_multi(
        self: Any,
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
        # Client.get_multi converts with a function that only a global patch could replace, so its part
        # around the read itself, which is the client's own _extended_lookup(), stands here again.
        if not keys:
            return []
        if any(key.project != self.project for key in keys):
            raise ValueError("Keys do not match project")
        found = datastore_client._extended_lookup(
            datastore_api=self._datastore_api,
            project=self.project,
            key_pbs=[key.to_protobuf() for key in keys],
            missing=missing,
            deferred=deferred,
            eventual=eventual,
            transaction=self.current_transaction if transaction is None else transaction,
            retry=retry,
            timeout=timeout,
            read_time=read_time,
            database=self.database,
        )
        if missing is not None:
            missing[:] = [_to_entity(message) for message in missing]
        if deferred is not None:
            deferred[:] = [helpers.key_from_protobuf(message) for message in deferred]
        return [_to_entity(message) for message in found]

    def query(self, **kwargs: Any) -> Any:
        """As ``Client.query``, returning a query that is wrapped as well."""
        return wrap(super().query(**kwargs))  # type: ignore[misc]  # Client has it


class _LazyQuery(_LazyReads):
    """What a wrapped query does differently. Mixed into a subclass of the query's own class."""

    def fetch(self, *args: Any, **kwargs: Any) -> Any:
        """As ``Query.fetch``; the iterator gives lazy entities."""
        iterator = super().fetch(*args, **kwargs)  # type: ignore[misc]  # Query has it
        if issubclass(type(iterator.client), datastore_client.Client):
            iterator.client = wrap(iterator.client)
        iterator.item_to_value = _item_to_entity
        return iterator


def _to_entity(message: Any) -> Any:
    return convert(message, helpers.entity_from_protobuf)


def _item_to_entity(_iterator: Any, message: Any) -> Any:
    return _to_entity(message)


def _subclass(kind: type, mixin: type) -> type:
    # Named like the class it stands for: isinstance, repr and pickled references are the caller's.
    return type(kind.__name__, (mixin, kind), {"__module__": kind.__module__, "__slots__": ()})


_subclasses: dict[type, type] = {}


def wrap(query_or_client: _Wrapped) -> _Wrapped:
    """Return a query or client like the given one, whose reads return lazy entities.

    Nothing else in the process changes, not even the object that was given; but the two share their
    state, so that what is set on the one is set on the other: filters, limits, the current batch or
    transaction, the connection. Queries made by a wrapped client are wrapped as well. A wrapped object
    is an instance of the class of what it wraps; one that is wrapped already is returned as it is.

    Args:
        query_or_client: a ``google.cloud.datastore`` ``Query`` or ``Client``.

    Raises:
        TypeError: if it is neither.
    """
    kind = type(query_or_client)
    if isinstance(query_or_client, _LazyReads):
        return query_or_client
    if issubclass(kind, datastore_client.Client):
        mixin: type = _LazyClient
    elif issubclass(kind, Query):
        mixin = _LazyQuery
    else:
        raise TypeError(
            "wrap() takes a google.cloud.datastore Query or Client, "
            f"not {describe_type(query_or_client)}"
        )
    if kind not in _subclasses:
        _subclasses[kind] = _subclass(kind, mixin)
    wrapped = object.__new__(_subclasses[kind])
    wrapped.__dict__ = query_or_client.__dict__
    return wrapped  # type: ignore[no-any-return]  # made of a class that exists at run time only
