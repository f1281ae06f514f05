"""Read responses whose entities are bytes until somebody asks for more.

They stand in for the client's proto-plus messages: what the client itself needs of a response (the
entities, cursors, counters, transaction) is at hand, and anything else that is asked of one makes
the real message and asks that. They are read-only: what was changed in a message that was made on
demand would be lost on whoever does not demand it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from proto.enums import ProtoEnumMeta
from proto.message import MessageMeta

from lazyentity._backend import (
    Conversion,
    EntityBytes,
    ResultBytes,
    split_lookup,
    split_query,
    stock_from_raw,
)
from lazyentity.codec import messages, shadow
from lazyentity.codec.keys import key_message_from_raw
from lazyentity.codec.values import stock_entity
from lazyentity.entity import LazyEntity

_Response = TypeVar("_Response", bound="_ReadResponse")


class _StandIn:
    """Stands in for a message that is made when it is first needed.

    Subclasses keep what they keep in slots, of names that no field of a message has: that is what
    makes a stand-in read-only. (A ``__setattr__`` that explains would be paid for by each entity of
    a page.)
    """

    __slots__ = ()

    _real: ClassVar[Any]
    """The class that this stands in for."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Whoever calls the class of what they got gets what the stock client would give them.
        return cls._real(*args, **kwargs)

    def _make(self) -> Any:
        """Make the real message."""
        raise NotImplementedError

    def _whole(self) -> Any:
        """Return the real message, the same one each time."""
        try:
            return object.__getattribute__(self, "_message")
        except AttributeError:
            message = self._make()
            object.__setattr__(self, "_message", message)
            return message

    @property
    def __class__(self) -> Any:
        return self._real

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("__class__ assignment is not supported")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole(), name)

    def __eq__(self, other: object) -> bool:
        return bool(self._whole() == _unwrapped(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # messages are unhashable

    def __bool__(self) -> bool:
        return bool(self._whole())

    def __contains__(self, name: object) -> bool:
        return name in self._whole()

    def __dir__(self) -> list[str]:
        return dir(self._whole())

    def __repr__(self) -> str:
        return repr(self._whole())

    def __str__(self) -> str:
        return str(self._whole())

    def __copy__(self) -> Any:
        return copy.copy(self._whole())

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.deepcopy(self._whole(), memo)

    def __reduce__(self) -> Any:
        return self._whole().__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._whole().__reduce_ex__(protocol)


def _unwrapped(instance: Any) -> Any:
    return instance._whole() if issubclass(type(instance), _StandIn) else instance


class _MessageStandIn(_StandIn):
    """A stand-in for a proto-plus message, with what proto-plus offers on the class of a message.

    The GAPIC layer, for one, logs ``type(response).to_json(response)``.
    """

    __slots__ = ()

    @classmethod
    def pb(cls, instance: Any = None, *, coerce: bool = False) -> Any:
        return cls._real.pb(_unwrapped(instance), coerce=coerce)

    @classmethod
    def serialize(cls, instance: Any) -> bytes:
        serialised: bytes = cls._real.serialize(_unwrapped(instance))
        return serialised

    @classmethod
    def to_json(cls, instance: Any, **options: Any) -> str:
        text: str = cls._real.to_json(_unwrapped(instance), **options)
        return text

    @classmethod
    def to_dict(cls, instance: Any, **options: Any) -> dict[str, Any]:
        fields: dict[str, Any] = cls._real.to_dict(_unwrapped(instance), **options)
        return fields


_set_class = vars(object)["__class__"].__set__


class _EntityStandIn(_StandIn, EntityBytes):
    """A stand-in for an entity.

    Once somebody looked into the message, which they may have changed, that is what is converted:
    the stand-in is one of its :attr:`_opened` class from then on, and so is the one that it is the
    ``_pb`` of. (An entity of a page that nobody looks into pays nothing for that.)
    """

    __slots__ = ()

    _opened: ClassVar[Any]

    def _whole(self) -> Any:
        message = super()._whole()
        if type(self) is not self._opened:
            _set_class(self, self._opened)
            self._share(message)
        return message

    def _share(self, message: Any) -> None:
        """Let whoever has this for a part know the message."""


class EntityMessage(_EntityStandIn):
    """The bytes of an entity, standing in for the upb message that they could be parsed to."""

    __slots__ = ("_message",)

    _real = messages.Entity

    def _make(self) -> Any:
        return messages.Entity.FromString(self.raw)

    def SerializeToString(self, **options: Any) -> bytes:  # noqa: N802  # the name that messages have
        """Serialise; what nobody looked into stays as it came."""
        try:
            message = object.__getattribute__(self, "_message")
        except AttributeError:
            if not options:
                return self.raw
            message = self._whole()
        serialised: bytes = message.SerializeToString(**options)
        return serialised

    def _share(self, message: Any) -> None:
        try:
            handle = object.__getattribute__(self, "outer")
        except AttributeError:
            handle = None
        if handle is not None:
            object.__setattr__(handle, "_message", entity_pb2.Entity.wrap(message))
            _set_class(handle, handle._opened)


class OpenedEntityMessage(EntityMessage):
    """One that somebody looked into."""

    __slots__ = ()

    def to_entity(self) -> Any:
        """As :meth:`EntityBytes.to_entity`, of the message as it is now."""
        if self.conversion.eager:
            return self.to_stock_entity()
        self._receive(self.SerializeToString(), self.conversion)
        return super().to_entity()

    def to_stock_entity(self) -> Any:
        """As :meth:`EntityBytes.to_stock_entity`, of the message as it is now."""
        # Serialised, it might give its properties in another order.
        return stock_entity(self._whole())


EntityMessage._opened = OpenedEntityMessage


class EntityHandle(_MessageStandIn, _EntityStandIn):
    """The bytes of an entity, standing in for the proto-plus message around its upb message."""

    __slots__ = ("_message",)

    _real = entity_pb2.Entity
    inner_type = EntityMessage
    _pb = EntityBytes.inner

    def _make(self) -> Any:
        return entity_pb2.Entity.deserialize(self.raw)

    @property
    def key(self) -> Any:
        """The key, in proto-plus, without the properties being parsed."""
        try:
            return object.__getattribute__(self, "_message").key
        except AttributeError:
            message = key_message_from_raw(self.raw)
        return entity_pb2.Key() if message is None else entity_pb2.Key.wrap(message)


class OpenedEntityHandle(EntityHandle):
    """One that somebody looked into."""

    __slots__ = ()

    @property
    def _pb(self) -> Any:
        return self._whole()._pb

    def to_entity(self) -> Any:
        """As :meth:`EntityBytes.to_entity`, of the message as it is now."""
        if self.conversion.eager:
            return self.to_stock_entity()
        self._receive(self._pb.SerializeToString(), self.conversion)
        return super().to_entity()

    def to_stock_entity(self) -> Any:
        """As :meth:`EntityBytes.to_stock_entity`, of the message as it is now."""
        return stock_entity(self._pb)


EntityHandle._opened = OpenedEntityHandle

HANDLES = frozenset((EntityMessage, OpenedEntityMessage, EntityHandle, OpenedEntityHandle))
"""The classes of what the client gets for an entity."""


class EntityResult(_MessageStandIn, ResultBytes):
    """One result, standing in for ``google.datastore.v1.EntityResult``."""

    __slots__ = ("_message",)

    _real = query_pb2.EntityResult
    entity_type = EntityHandle

    def _make(self) -> Any:
        return query_pb2.EntityResult.deserialize(self.serialised())

    @property
    def cursor(self) -> bytes:
        """The cursor, without the entity being parsed."""
        cursor: bytes = shadow.EntityResult.FromString(self.serialised()).cursor
        return cursor


class _Received:
    """A serialised response, shared by the response and whatever it hands out.

    These refer to it and never to each other: a response that is dropped is gone at once, with all
    its bytes, and does not wait for the garbage collector.

    Attributes:
        raw: the serialised response.
        conversion: what its entities become.
        rest: the upb message of the real one, parsed without the results.
    """

    __slots__ = ("_real", "_whole", "conversion", "raw", "rest")

    def __init__(self, raw: bytes, real: Any) -> None:
        self.raw = raw
        self.conversion = Conversion(LazyEntity, stock_from_raw)
        self.rest: Any = None
        self._real = real
        self._whole: Any = None

    def whole(self) -> Any:
        """Return the real message, the same one each time."""
        if self._whole is None:
            self._whole = self._real.deserialize(self.raw)
        return self._whole


def _readers(real: Any) -> dict[str, Callable[[Any], Any]]:
    """Return what makes of an upb field's value what proto-plus gives for that field.

    Only for the fields of which that is one step; it may raise KeyError where it is not after all.
    """
    readers: dict[str, Callable[[Any], Any]] = {}
    for name, field in real.meta.fields.items():
        if field.repeated:
            continue
        if isinstance(field.enum, ProtoEnumMeta):
            readers[name] = {int(member): member for member in field.enum}.__getitem__
        elif isinstance(field.message, MessageMeta):
            readers[name] = field.message.wrap
        elif field.enum is None and field.message is None:
            readers[name] = _same
    return readers


def _same(value: Any) -> Any:
    return value


class _ResultsStandIn(_MessageStandIn):
    """A stand-in for a message with results in it.

    Its other fields are read from the message as parsed without its results, mostly without
    proto-plus: the client asks for half a dozen with each page.
    """

    __slots__ = ("_received",)

    _received: _Received
    _fields_read: ClassVar[dict[str, Callable[[Any], Any]]]

    def __init_subclass__(cls) -> None:
        if "_real" in vars(cls):
            cls._fields_read = _readers(cls._real)

    def _rest(self) -> Any:
        """Return the upb message, without results."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        read = self._fields_read.get(name)
        if read is not None:
            try:
                return read(getattr(self._rest(), name))
            except KeyError:
                pass
        if name in self._real.meta.fields:
            return getattr(self._real.wrap(self._rest()), name)
        return getattr(self._whole(), name)

    def __bool__(self) -> bool:
        return bool(self._has_results() or self._real.wrap(self._rest()))

    def _has_results(self) -> bool:
        raise NotImplementedError


class _ReadResponse(_ResultsStandIn):
    """What lookup and query responses have in common."""

    __slots__ = ()

    def _receive(self, raw: bytes) -> None:
        self._received = _Received(raw, self._real)
        self._received.rest = self._real.pb().FromString(self._split(raw))

    def _split(self, raw: bytes) -> bytes:
        """Take the results out of the response; return the rest of it."""
        raise NotImplementedError

    @classmethod
    def deserialize(cls: type[_Response], raw: bytes) -> _Response:
        """Make a response of the bytes that a server sent.

        Raises:
            google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked
                into.
        """
        response: _Response = object.__new__(cls)
        response._receive(raw)
        return response

    def for_eager_rpc(self: _Response) -> _Response:
        """Give stock entities from this response."""
        self._received.conversion.eager = True
        return self

    def _whole(self) -> Any:
        return self._received.whole()

    def _rest(self) -> Any:
        return self._received.rest


class LookupResponse(_ReadResponse):
    """Stands in for ``google.datastore.v1.LookupResponse``."""

    __slots__ = ("_found", "_missing")

    _real = datastore_pb2.LookupResponse

    def _split(self, raw: bytes) -> bytes:
        rest, self._found, self._missing = split_lookup(
            raw, self._received.conversion, EntityResult
        )
        return rest

    def _has_results(self) -> bool:
        return bool(self._found or self._missing)

    @property
    def found(self) -> tuple[EntityResult, ...]:
        return self._found

    @property
    def missing(self) -> tuple[EntityResult, ...]:
        return self._missing


class QueryResultBatch(_ResultsStandIn):
    """Stands in for ``google.datastore.v1.QueryResultBatch``."""

    __slots__ = ("_results",)

    _real = query_pb2.QueryResultBatch

    _results: tuple[EntityResult, ...]

    def _whole(self) -> Any:
        return self._received.whole().batch

    def _rest(self) -> Any:
        return self._received.rest.batch

    def _has_results(self) -> bool:
        return bool(self._results)

    @property
    def entity_results(self) -> tuple[EntityResult, ...]:
        return self._results


class RunQueryResponse(_ReadResponse):
    """Stands in for ``google.datastore.v1.RunQueryResponse``."""

    __slots__ = ("_batch",)

    _real = datastore_pb2.RunQueryResponse

    def _split(self, raw: bytes) -> bytes:
        rest, results = split_query(raw, self._received.conversion, EntityResult)
        self._batch = object.__new__(QueryResultBatch)
        self._batch._received = self._received
        self._batch._results = results
        return rest

    def _has_results(self) -> bool:
        return bool(self._batch)

    def message(self) -> Any:
        """Return the real message, made of what was parsed already and of the results.

        Raises:
            google.protobuf.message.DecodeError: if an entity is malformed.
        """
        message = self._received.rest
        for result in self._batch._results:
            message.batch.entity_results.add().MergeFromString(result.serialised())
        return self._real.wrap(message)

    @property
    def batch(self) -> QueryResultBatch:
        return self._batch
