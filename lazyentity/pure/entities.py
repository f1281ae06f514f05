"""The results in a read response, taken out of it without parsing the entities.

The patches subclass these classes: their proxies pass for messages of the API.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import fallback, messages, shadow
from lazyentity.codec.values import stock_entity
from lazyentity.profiling import observer

_new: Callable[[Any], Any] = object.__new__


def stock_from_raw(raw: bytes) -> Entity:
    """As :meth:`lazyentity._backend.protocols.Backend.stock_from_raw`."""
    if not isinstance(raw, bytes):
        # As the native backend, whose argument is declared.
        raise TypeError(f"raw must be bytes, not {type(raw).__name__}")
    return stock_entity(messages.Entity.FromString(raw))


class EntityReader:
    """As :class:`lazyentity._backend.protocols.EntityReader`."""

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
    """As :class:`lazyentity._backend.protocols.ReadRpc`."""

    __slots__ = ("is_of_query", "reader")

    def __init__(self) -> None:
        self.reader: EntityReader | None = None
        self.is_of_query = False


class EntityBytes:
    """As :class:`lazyentity._backend.protocols.EntityBytes`."""

    __slots__ = ("_origin", "raw", "rpc")

    _origin: Any
    raw: bytes
    rpc: ReadRpc

    @property
    def serialised_key(self) -> bytes | None:
        """As :attr:`lazyentity._backend.protocols.EntityBytes.serialised_key`."""
        occurrences = shadow.EntityKey.FromString(self.raw).key
        return occurrences[0] if len(occurrences) == 1 else None

    def _receive(self, raw: bytes, rpc: ReadRpc) -> None:
        """As :meth:`lazyentity._backend.protocols.EntityBytes._receive`."""
        self.raw = raw
        self.rpc = rpc
        self._origin = None

    def read(self, reader: EntityReader) -> Any:
        """As :meth:`lazyentity._backend.protocols.EntityBytes.read`."""
        return _read(self.rpc, reader, self.raw)

    def to_unboxed(self, reader: EntityReader) -> Any:
        """As :meth:`lazyentity._backend.protocols.EntityBytes.to_unboxed`."""
        return self.read(reader)


def _read(rpc: ReadRpc, reader: EntityReader, raw: bytes) -> Any:
    chosen = rpc.reader or reader
    entity = chosen._make(raw)
    data = observer.data
    if data is not None:
        # Before it is prepared: what that decodes is counted.
        if chosen.is_stock:
            data.receive_eager(raw)
        else:
            data.receive(entity, raw, rpc.is_of_query)
    return entity if chosen.prepare is None else chosen.prepare(entity)


class ViewAs:
    """As :class:`lazyentity._backend.protocols.ViewAs`."""

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
    """As :class:`lazyentity._backend.protocols.ResultBytes`."""

    __slots__ = ("_result", "rpc")

    _result: Any
    rpc: ReadRpc
    entity_type: ClassVar[Any] = EntityBytes

    @property
    def entity(self) -> Any:
        """As :attr:`lazyentity._backend.protocols.ResultBytes.entity`."""
        entity = _new(self.entity_type)
        entity.raw = _joined(self._result.entity)
        entity.rpc = self.rpc
        entity._origin = None
        return entity

    def read(self, reader: EntityReader) -> Any:
        """As :meth:`lazyentity._backend.protocols.ResultBytes.read`."""
        return _read(self.rpc, reader, _joined(self._result.entity))

    def entity_key(self) -> Key | None:
        """As :meth:`lazyentity._backend.protocols.ResultBytes.entity_key`."""
        return fallback.key(_joined(self._result.entity))

    @property
    def cursor(self) -> bytes:
        """As :attr:`lazyentity._backend.protocols.ResultBytes.cursor`."""
        cursor: bytes = self._result.cursor
        return cursor

    def serialised(self) -> bytes:
        """As :meth:`lazyentity._backend.protocols.ResultBytes.serialised`."""
        serialised: bytes = self._result.SerializeToString()
        return serialised


def _joined(occurrences: Any) -> bytes:
    # Concatenating encodings is how protobuf defines to merge them.
    joined: bytes = occurrences[0] if len(occurrences) == 1 else b"".join(occurrences)
    return joined


class ResponseEntities:
    """As :class:`lazyentity._backend.protocols.ResponseEntities`."""

    __slots__ = ("_results",)

    def __init__(self, results: tuple[Any, ...]) -> None:
        self._results = results

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> EntityIterator:
        return EntityIterator(self)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is what the client has here.
        return list, (list(self),)

    def results(self) -> tuple[Any, ...]:
        """As :meth:`lazyentity._backend.protocols.ResponseEntities.results`."""
        return self._results


class EntityIterator:
    """As :class:`lazyentity._backend.protocols.EntityIterator`."""

    __slots__ = ("_results",)

    def __init__(self, entities: ResponseEntities) -> None:
        self._results = iter(entities._results)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._results).entity

    def __length_hint__(self) -> int:
        return operator.length_hint(self._results)

    def __reduce__(self) -> tuple[Any, ...]:
        # As above.
        return iter, ([result.entity for result in copy.copy(self._results)],)

    def read_next(self, reader: EntityReader) -> Any:
        """As :meth:`lazyentity._backend.protocols.EntityIterator.read_next`."""
        return next(self._results).read(reader)


def convert_found(
    reader: EntityReader,
    entities: dict[bytes, Any],
    results: tuple[Any, ...],
    pending: dict[bytes, Any],
) -> list[Any]:
    """As :meth:`lazyentity._backend.protocols.Backend.convert_found`."""
    left = []
    for result in results:
        entity = result.entity
        try:
            key = entity.serialised_key
            if key not in pending:
                left.append(result)
                continue
            entities[key] = entity.read(reader)
        except (DecodeError, ValueError, OverflowError):
            # The caller reads it again, and reports the error.
            left.append(result)
        else:
            del pending[key]
    return left


def _take(message: Any, field: str, rpc: ReadRpc, result_type: Any) -> ResponseEntities:
    results = []
    for result_message in getattr(message, field):
        # Without __init__, as above.
        result = _new(result_type)
        result.rpc = rpc
        result._result = result_message
        results.append(result)
    message.ClearField(field)
    return ResponseEntities(tuple(results))


def split_lookup(
    raw: bytes, rpc: ReadRpc, result_type: Any
) -> tuple[bytes, ResponseEntities, ResponseEntities]:
    """As :meth:`lazyentity._backend.protocols.Backend.split_lookup`."""
    message = shadow.LookupResults.FromString(raw)
    found = _take(message, "found", rpc, result_type)
    missing = _take(message, "missing", rpc, result_type)
    return message.SerializeToString(), found, missing


def split_query(raw: bytes, rpc: ReadRpc, result_type: Any) -> tuple[bytes, ResponseEntities]:
    """As :meth:`lazyentity._backend.protocols.Backend.split_query`."""
    message = shadow.QueryResults.FromString(raw)
    entities = ResponseEntities(())
    # Clearing a field of a missing message would create the message.
    if message.HasField("batch"):
        entities = _take(message.batch, "entity_results", rpc, result_type)
    return message.SerializeToString(), entities
