"""Read responses whose entities are bytes until somebody asks for more.

They stand in for the client's proto-plus messages: what the client itself needs of a response (the
entities, cursors, counters, transaction) is at hand, and anything else that is asked of one makes the
real message and asks that. They are read-only: what was changed in a message that was made on demand
would be lost on whoever does not demand it.
"""

from __future__ import annotations

import copy
from typing import Any, ClassVar, TypeVar

import wrapt
from google.cloud.datastore.entity import Entity
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2

from lazyentity.codec import messages, shadow
from lazyentity.codec.values import stock_entity
from lazyentity.entity import LazyEntity

_Response = TypeVar("_Response", bound="_ReadResponse")


class _StandIn(wrapt.BaseObjectProxy):  # type: ignore[misc]  # wrapt is untyped
    """A proxy of a message that is made when it is first needed."""

    _real: ClassVar[Any]
    """The class that this stands in for."""

    def __wrapped_factory__(self) -> Any:
        """Make the real message. Its presence is what tells wrapt to call ``__wrapped_get__``."""
        raise NotImplementedError

    def __wrapped_get__(self) -> Any:
        message = self.__wrapped__ = self.__wrapped_factory__()
        return message

    @property
    def __class__(self) -> Any:
        return self._real

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError("__class__ assignment is not supported")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith(("_self_", "__wrapped__")):
            raise AttributeError(_read_only(self, name))
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(_read_only(self, name))

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __copy__(self) -> Any:
        return copy.copy(self.__wrapped__)

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.deepcopy(self.__wrapped__, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__reduce_ex__(protocol)


def _read_only(stand_in: _StandIn, name: str) -> str:
    return (
        f"cannot change {name!r}: a {type(stand_in).__name__} read lazily is read-only; copy.copy() of it "
        "is a message of the client that can be changed"
    )


class _MessageStandIn(_StandIn):
    """A stand-in for a proto-plus message, with what proto-plus offers on the class of a message.

    The GAPIC layer, for one, logs ``type(response).to_json(response)``.
    """

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


def _unwrapped(instance: Any) -> Any:
    return instance.__wrapped__ if isinstance(instance, _StandIn) else instance


class EntityMessage(_StandIn):
    """The bytes of an entity, standing in for the upb message that they could be parsed to.

    Attributes:
        raw: the serialised ``google.datastore.v1.Entity``.
        eager: whether the RPC asked for stock entities.
    """

    _real = messages.Entity

    def __init__(self, raw: bytes, eager: bool) -> None:
        self._self_raw = raw
        self._self_eager = eager

    def __wrapped_factory__(self) -> Any:
        return messages.Entity.FromString(self._self_raw)

    def to_entity(self) -> Entity:
        """Convert to what the RPC asked for: a lazy entity, or a stock one.

        Raises:
            google.protobuf.message.DecodeError: if the bytes are malformed.
            ValueError: if a stock entity was asked for, as the client raises it.
        """
        if self._self_eager:
            return stock_entity(self.__wrapped__)
        return LazyEntity.from_bytes(self._self_raw)


class EntityHandle(_MessageStandIn):
    """An :class:`EntityMessage`, standing in for the proto-plus message around it."""

    _real = entity_pb2.Entity

    def __init__(self, raw: bytes, eager: bool) -> None:
        self._self_message = EntityMessage(raw, eager)

    def __wrapped_factory__(self) -> Any:
        return entity_pb2.Entity.wrap(self._self_message.__wrapped__)

    @property
    def _pb(self) -> EntityMessage:
        message: EntityMessage = self._self_message
        return message

    def to_entity(self) -> Entity:
        """As :meth:`EntityMessage.to_entity`."""
        return self._self_message.to_entity()


class EntityResult(_MessageStandIn):
    """One result, standing in for ``google.datastore.v1.EntityResult``."""

    _real = query_pb2.EntityResult

    def __init__(self, result: Any, eager: bool) -> None:
        self._self_result = result
        self._self_entity = EntityHandle(result.entity, eager)

    def __wrapped_factory__(self) -> Any:
        return query_pb2.EntityResult.deserialize(self._self_result.SerializeToString())

    @property
    def entity(self) -> EntityHandle:
        handle: EntityHandle = self._self_entity
        return handle


class _Results:
    """The results in one repeated field of a shadow message, taken out of it."""

    def __init__(self, message: Any, field: str) -> None:
        self._results = list(getattr(message, field))
        message.ClearField(field)
        self._stand_ins: tuple[EntityResult, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self._results)

    def stand_ins(self, eager: bool) -> tuple[EntityResult, ...]:
        if self._stand_ins is None:
            self._stand_ins = tuple(EntityResult(result, eager) for result in self._results)
        return self._stand_ins


class _ResultsStandIn(_MessageStandIn):
    """A stand-in for a message with results in it.

    Its other fields are read from the real message, parsed without its results.
    """

    def _without_results(self) -> Any:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name in self._real.meta.fields:
            return getattr(self._without_results(), name)
        return getattr(self.__wrapped__, name)


class _ReadResponse(_ResultsStandIn):
    """What lookup and query responses have in common."""

    _shadow: ClassVar[Any]

    def __init__(self, raw: bytes) -> None:
        self._self_raw = raw
        self._self_eager = False
        self._self_rest = None
        self._self_shadow = self._shadow.FromString(raw)
        self._take_results(self._self_shadow)

    def _take_results(self, message: Any) -> None:
        """Take the results out of the shadow ``message``."""
        raise NotImplementedError

    @classmethod
    def deserialize(cls: type[_Response], raw: bytes) -> _Response:
        """Make a response of the bytes that a server sent.

        Raises:
            google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked into.
        """
        return cls(raw)

    def for_eager_rpc(self: _Response) -> _Response:
        """Give stock entities from this response."""
        self._self_eager = True
        return self

    def __wrapped_factory__(self) -> Any:
        return self._real.deserialize(self._self_raw)

    def _without_results(self) -> Any:
        if self._self_rest is None:
            self._self_rest = self._real.deserialize(self._self_shadow.SerializeToString())
        return self._self_rest


class LookupResponse(_ReadResponse):
    """Stands in for ``google.datastore.v1.LookupResponse``."""

    _real = datastore_pb2.LookupResponse
    _shadow = shadow.LookupResponse

    def _take_results(self, message: Any) -> None:
        self._self_found = _Results(message, "found")
        self._self_missing = _Results(message, "missing")

    def __bool__(self) -> bool:
        return bool(self._self_found or self._self_missing or self._without_results())

    @property
    def found(self) -> tuple[EntityResult, ...]:
        return self._self_found.stand_ins(self._self_eager)  # type: ignore[no-any-return]  # wrapt is untyped

    @property
    def missing(self) -> tuple[EntityResult, ...]:
        return self._self_missing.stand_ins(self._self_eager)  # type: ignore[no-any-return]  # wrapt is untyped


class QueryResultBatch(_ResultsStandIn):
    """Stands in for ``google.datastore.v1.QueryResultBatch``."""

    _real = query_pb2.QueryResultBatch

    def __init__(self, response: RunQueryResponse, message: Any) -> None:
        self._self_response = response
        self._self_results = _Results(message, "entity_results")

    def __wrapped_factory__(self) -> Any:
        return self._self_response.__wrapped__.batch

    def _without_results(self) -> Any:
        return self._self_response._without_results().batch

    def __bool__(self) -> bool:
        return bool(self._self_results or self._without_results())

    @property
    def entity_results(self) -> tuple[EntityResult, ...]:
        eager = self._self_response._self_eager
        return self._self_results.stand_ins(eager)  # type: ignore[no-any-return]  # wrapt is untyped


class RunQueryResponse(_ReadResponse):
    """Stands in for ``google.datastore.v1.RunQueryResponse``."""

    _real = datastore_pb2.RunQueryResponse
    _shadow = shadow.RunQueryResponse

    def _take_results(self, message: Any) -> None:
        self._self_batch = (
            QueryResultBatch(self, message.batch) if message.HasField("batch") else None
        )

    def __bool__(self) -> bool:
        return bool(self._self_batch or self._without_results())

    @property
    def batch(self) -> Any:
        return self._without_results().batch if self._self_batch is None else self._self_batch
