"""The results in a read response, taken out of it without parsing the entities.

The patches subclass these classes: their proxies pass for messages of the API.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from google.cloud.datastore.key import Key

from lazyentity.codec import fallback, shadow
from lazyentity.codec.interruptions import raise_if_of_handler
from lazyentity.profiling import observer
from lazyentity.pure.profiling import count_eager_entity, count_entity

_new: Callable[[Any], Any] = object.__new__


class EntityReader:
    """Makes the entities of a read: lazy ones, stock ones, or lazy ones that are prepared.

    Args:
        lazy_type: the class of lazy entities, a subclass of the backend's ``LazyMapping``.
        stock_entity: makes a stock entity of a serialised one.
        is_stock: whether entities become stock ones.
        prepare: takes a lazy entity and returns it as it is handed out; None changes nothing.
    """

    __slots__ = ("_make", "is_stock", "prepare")

    def __init__(
        self,
        lazy_type: Any,
        stock_entity: Callable[[bytes], Any],
        *,
        is_stock: bool = False,
        prepare: Callable[[Any], Any] | None = None,
    ) -> None:
        self._make: Callable[[bytes], Any] = stock_entity if is_stock else lazy_type._from_raw
        self.is_stock = is_stock
        self.prepare = prepare


class ReadRpc:
    """The RPC that a response answers. All handles of the response carry it.

    Attributes:
        reader: makes the entities, if that was decided when the RPC was sent; None, if it is left
            to those who read a handle.
        is_of_query: whether the results are whole entities that a query returned; for a profile.
        _counter: of a profile; None, until the first entity is counted.
    """

    __slots__ = ("_counter", "is_of_query", "reader")

    def __init__(self) -> None:
        self.reader: EntityReader | None = None
        self.is_of_query = False
        self._counter: Any = None


class EntityBytes:
    """A serialised entity that waits to be read.

    Attributes:
        raw: the serialised ``google.datastore.v1.Entity``.
        rpc: the RPC that returned the entity.
        _origin: the object whose :class:`ViewAs` property made this one.
    """

    __slots__ = ("_origin", "raw", "rpc")

    _origin: EntityBytes | None
    raw: bytes
    rpc: ReadRpc

    @property
    def serialised_key(self) -> bytes | None:
        """The key as it came; None, if there is none, or if it is not in one piece.

        The native backend also gives None for an encoding that servers do not send, malformed ones
        included.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed; pure backend only.
        """
        occurrences = shadow.EntityKey.FromString(self.raw).key
        return occurrences[0] if len(occurrences) == 1 else None

    def _receive(self, raw: bytes, rpc: ReadRpc) -> None:
        """Take up an entity that did not come with a response."""
        self.raw = raw
        self.rpc = rpc
        self._origin = None

    def read(self, reader: EntityReader) -> Any:
        """Make the entity.

        Args:
            reader: makes it, unless the RPC decided otherwise.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed.
            ValueError, OverflowError: for a stock entity, as the client raises them.
            Exception: any that :attr:`EntityReader.prepare` raises.
        """
        return _read(self.rpc, reader, self.raw)

    def to_unboxed(self, reader: EntityReader) -> Any:
        """Make a row for :func:`~lazyentity.pure.columns.append_columns`, or the entity.

        The pure backend has no rows. Those of the native one give the values and errors of the
        entities that they take the place of.

        Raises:
            As :meth:`read`.
        """
        return self.read(reader)


def _read(rpc: ReadRpc, reader: EntityReader, raw: bytes) -> Any:
    chosen = rpc.reader or reader
    entity = chosen._make(raw)
    if observer.data is not None:
        # Before it is prepared: what that decodes is counted.
        if chosen.is_stock:
            rpc._counter = count_eager_entity(raw, rpc._counter, rpc.is_of_query)
        else:
            rpc._counter = count_entity(entity, rpc._counter, rpc.is_of_query)
    return entity if chosen.prepare is None else chosen.prepare(entity)


class ViewAs:
    """A property: the same bytes as an instance of another class.

    Args:
        kind: the other class; both are subclasses of :class:`EntityBytes`.
    """

    __slots__ = ("_kind",)

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        # Without __init__: a read of many entities makes one of these for each.
        other = _new(self._kind)
        other.raw = instance.raw
        other.rpc = instance.rpc
        other._origin = instance
        return other


class ResultBytes:
    """One result of a read response.

    Attributes:
        rpc: the RPC that returned this result.
        entity_type: of the class; the class of :attr:`entity`, a subclass of :class:`EntityBytes`.
    """

    __slots__ = ("_result", "rpc")

    _result: Any
    rpc: ReadRpc
    entity_type: ClassVar[Any] = EntityBytes

    @property
    def entity(self) -> Any:
        """The entity of this result, still serialised."""
        entity = _new(self.entity_type)
        entity.raw = _joined(self._result.entity)
        entity.rpc = self.rpc
        entity._origin = None
        return entity

    def read(self, reader: EntityReader) -> Any:
        """Make the entity, as :meth:`EntityBytes.read` of :attr:`entity`."""
        return _read(self.rpc, reader, _joined(self._result.entity))

    def entity_key(self) -> Key | None:
        """Decode the key of the entity, and nothing else of it; None if there is none.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of the key are malformed.
            ValueError: as the client raises it, if it could not have converted the key.
        """
        return fallback.key(_joined(self._result.entity))

    def serialised(self) -> bytes:
        """Return the serialised ``google.datastore.v1.EntityResult``."""
        serialised: bytes = self._result.SerializeToString()
        return serialised


def _joined(occurrences: Any) -> bytes:
    # Concatenating encodings is how protobuf defines to merge them.
    joined: bytes = occurrences[0] if len(occurrences) == 1 else b"".join(occurrences)
    return joined


def convert_found(
    reader: EntityReader,
    entities: dict[bytes, Any],
    results: tuple[Any, ...],
    pending: dict[bytes, Any],
) -> list[Any]:
    """Read the entities of a look-up whose serialised keys are as in the request.

    Args:
        reader: as for :meth:`EntityBytes.read`.
        entities: where the entities are put, by serialised key.
        results: each a :class:`ResultBytes`.
        pending: the serialised keys that were asked for. The keys of ``entities`` are removed.

    Returns:
        The other results: their keys are not pending in this encoding, or reading them fails.
    """
    left = []
    for result in results:
        entity = result.entity
        try:
            key = entity.serialised_key
            if key not in pending:
                left.append(result)
                continue
            entities[key] = entity.read(reader)
        except Exception as error:  # noqa: BLE001  # the caller reads it again, and reports the error
            raise_if_of_handler(error)
            left.append(result)
        else:
            del pending[key]
    return left


def _take(message: Any, field: str, rpc: ReadRpc, result_type: Any) -> tuple[Any, ...]:
    results = []
    for result_message in getattr(message, field):
        # Without __init__, as above.
        result = _new(result_type)
        result.rpc = rpc
        result._result = result_message
        results.append(result)
    message.ClearField(field)
    return tuple(results)


def split_lookup(
    raw: bytes, rpc: ReadRpc, result_type: Any
) -> tuple[bytes, tuple[Any, ...], tuple[Any, ...]]:
    """Split a serialised ``google.datastore.v1.LookupResponse``.

    Args:
        raw: the response.
        rpc: the RPC that it answers.
        result_type: a subclass of :class:`ResultBytes`.

    Returns:
        The response without its results; the results in ``found``; those in ``missing``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
    """
    message = shadow.LookupResponse.FromString(raw)
    found = _take(message, "found", rpc, result_type)
    missing = _take(message, "missing", rpc, result_type)
    return message.SerializeToString(), found, missing


def split_query(raw: bytes, rpc: ReadRpc, result_type: Any) -> tuple[bytes, tuple[Any, ...]]:
    """Split a serialised ``google.datastore.v1.RunQueryResponse``; arguments as for a lookup.

    Returns:
        The response without its results; the results in ``batch.entity_results``.

    Raises:
        google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
    """
    message = shadow.RunQueryResponse.FromString(raw)
    results: tuple[Any, ...] = ()
    # Clearing a field of a missing message would create the message.
    if message.HasField("batch"):
        results = _take(message.batch, "entity_results", rpc, result_type)
    return message.SerializeToString(), results
