"""Read responses whose entities are bytes until one is converted.

They are proxies of the client's proto-plus messages. The parts that the client itself needs of a
response (the entities, cursors, counters, the transaction) are at hand; any other question makes
the real message. The proxy of an entity is the entity's bytes, ready to be read.
"""

from __future__ import annotations

import contextlib
import operator
from typing import Any, Final, TypeVar

from google.cloud.datastore_v1.types import (
    datastore as datastore_pb2,
    entity as entity_pb2,
    query as query_pb2,
)

from lazyentity._backend import (
    EntityBytes,
    EntityReader,
    ReadRpc,
    ResultBytes,
    ViewAs,
    split_lookup,
    split_query,
)
from lazyentity._backend.protocols import ResponseEntities
from lazyentity.codec import messages
from lazyentity.codec.keys import key_message_from_raw
from lazyentity.codec.values import stock_entity
from lazyentity.patches.api.proxies import MessageProxy, Proxy
from lazyentity.profiling import observer

_Response = TypeVar("_Response", bound="_ReadResponse")

_get = object.__getattribute__


def _note_message(proxy: Any) -> None:
    """Note, if a profile runs, that code has a message, and may read any property of it."""
    if observer.data is not None:
        # Bytes that came with no response have no RPC; a proxy asks its message instead.
        with contextlib.suppress(AttributeError):
            _get(proxy, "rpc").is_of_query = False


class EntityMessage(Proxy, EntityBytes):
    """The bytes of an entity, as a proxy of its upb message.

    It is the ``_pb`` of an :class:`EntityHandle`, which is its origin and makes the message.
    """

    __slots__ = ()

    _real = messages.Entity

    def _whole(self) -> Any:
        return self._origin._whole()._pb

    def read(self, reader: Any) -> Any:
        """As :meth:`EntityHandle.read`."""
        return self._origin.read(reader)

    to_unboxed = read

    def SerializeToString(self, **options: Any) -> bytes:  # noqa: N802  # the name that messages have
        """Serialise; before the message is made, the result is the received bytes."""
        if not options and self._origin._made() is None:
            return self.raw
        serialised: bytes = self._whole().SerializeToString(**options)
        return serialised


class EntityHandle(MessageProxy, EntityBytes):
    """The bytes of an entity, as a proxy of the proto-plus message around its upb message.

    Code that asked for the real message may change it, so the message is read from then on.
    """

    __slots__ = ("_message",)

    _real = entity_pb2.Entity
    _view = ViewAs(EntityMessage)

    def _make(self) -> Any:
        _note_message(self)
        return entity_pb2.Entity.deserialize(self.raw)

    def _made(self) -> Any:
        """Return the message; None if it was not made."""
        try:
            return _get(self, "_message")
        except AttributeError:
            return None

    @property
    def _pb(self) -> Any:
        made = self._made()
        return self._view if made is None else made._pb

    def read(self, reader: Any) -> Any:
        """As :meth:`EntityBytes.read`, of the message if that was made."""
        made = self._made()
        if made is not None:
            if (self.rpc.reader or reader).is_stock:
                # Serialising the message might change the order of its properties.
                return stock_entity(made._pb)
            self._receive(made._pb.SerializeToString(), self.rpc)
        return EntityBytes.read(self, reader)

    def to_unboxed(self, reader: Any) -> Any:
        """As :meth:`EntityBytes.to_unboxed`; the entity, if the message was made."""
        is_made = self._made() is not None
        return self.read(reader) if is_made else EntityBytes.to_unboxed(self, reader)

    @property
    def key(self) -> Any:
        """The key, in proto-plus, without the properties being parsed."""
        made = self._made()
        if made is not None:
            return made.key
        message = key_message_from_raw(self.raw)
        return entity_pb2.Key() if message is None else entity_pb2.Key.wrap(message)


HANDLES = frozenset((EntityMessage, EntityHandle))
"""The classes of the proxies that the client gets in place of messages of entities."""


class EntityResult(MessageProxy, ResultBytes):
    """A proxy of a ``google.datastore.v1.EntityResult``."""

    __slots__ = ("_message",)

    _real = query_pb2.EntityResult
    entity_type = EntityHandle

    def _make(self) -> Any:
        _note_message(self)
        return query_pb2.EntityResult.deserialize(self.serialised())


class _ResponseBytes:
    """A serialised response, shared by the proxy of the response and the proxies of its parts.

    The proxies refer to it and never to each other: a response that is dropped is gone at once,
    with all its bytes, and does not wait for the garbage collector.

    Attributes:
        raw: the serialised response.
        rpc: the RPC that it answers.
        rest: the upb message of the response, parsed without the results.
    """

    __slots__ = ("_real", "_whole", "raw", "rest", "rpc")

    def __init__(self, raw: bytes, real: Any, reader: EntityReader | None) -> None:
        self.raw = raw
        self.rpc = ReadRpc()
        self.rpc.reader = reader
        self.rest: Any = None
        self._real = real
        self._whole: Any = None

    def whole(self) -> Any:
        """Return the real message, the same one each time."""
        if observer.data is not None:
            # Code that has the message may read any property.
            self.rpc.is_of_query = False
        if self._whole is None:
            self._whole = self._real.deserialize(self.raw)
        return self._whole


class _ResultsProxy(MessageProxy):
    """A proxy of a message with results in it.

    Its other fields are read from the message as parsed without its results.
    """

    __slots__ = ("_received",)

    _received: _ResponseBytes

    def _rest(self) -> Any:
        """Return the upb message, without results."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        if name in self._real.meta.fields:
            return getattr(self._real.wrap(self._rest()), name)
        return getattr(self._whole(), name)

    def __bool__(self) -> bool:
        return bool(self._has_results() or self._real.wrap(self._rest()))

    def _has_results(self) -> bool:
        raise NotImplementedError


class _ReadResponse(_ResultsProxy):
    """The common part of lookup and query responses."""

    __slots__ = ()

    def _receive(self, raw: bytes, reader: EntityReader | None) -> None:
        self._received = _ResponseBytes(raw, self._real, reader)
        self._received.rest = self._real.pb().FromString(self._split(raw))
        if observer.data is not None:
            self._received.rpc.is_of_query = self._has_whole_entities()

    def _has_whole_entities(self) -> bool:
        """Say, for a profile, whether the results are whole entities that a query returned."""
        return False

    def _split(self, raw: bytes) -> bytes:
        """Take the results out of the response; return the rest of it."""
        raise NotImplementedError

    @classmethod
    def deserialize(
        cls: type[_Response], raw: bytes, reader: EntityReader | None = None
    ) -> _Response:
        """Make a response of the bytes that a server sent.

        Args:
            raw: the bytes.
            reader: as of :class:`~lazyentity._backend.protocols.ReadRpc`.

        Raises:
            google.protobuf.message.DecodeError: if ``raw`` is malformed. Entities are not looked
                into.
        """
        response: _Response = object.__new__(cls)
        response._receive(raw, reader)
        return response

    def _whole(self) -> Any:
        return self._received.whole()

    def _rest(self) -> Any:
        return self._received.rest


class LookupResponse(_ReadResponse):
    """A proxy of a ``google.datastore.v1.LookupResponse``."""

    __slots__ = ("_found", "_missing")

    _real = datastore_pb2.LookupResponse

    def _split(self, raw: bytes) -> bytes:
        rest, self._found, self._missing = split_lookup(raw, self._received.rpc, EntityResult)
        return rest

    def _has_results(self) -> bool:
        return bool(self._found or self._missing)

    @property
    def found(self) -> tuple[EntityResult, ...]:
        return self._found.results()

    @property
    def deferred(self) -> Any:
        rest = self._received.rest
        # An empty list is that of most responses, and is had without proto-plus.
        return self._real.wrap(rest).deferred if rest.deferred else []

    @property
    def missing(self) -> tuple[EntityResult, ...]:
        return self._missing.results()


_MoreResults: Any = query_pb2.QueryResultBatch.MoreResultsType
_MORE_RESULTS = {int(each): each for each in _MoreResults}


class QueryResultBatch(_ResultsProxy):
    """A proxy of a ``google.datastore.v1.QueryResultBatch``."""

    __slots__ = ("_entities",)

    _real = query_pb2.QueryResultBatch

    _entities: ResponseEntities | None

    @classmethod
    def made(cls, received: _ResponseBytes, entities: ResponseEntities | None) -> QueryResultBatch:
        batch: QueryResultBatch = object.__new__(cls)
        batch._received, batch._entities = received, entities
        return batch

    # The client asks for these with each page. The getters are in C.
    skipped_results = property(operator.attrgetter("_received.rest.batch.skipped_results"))
    end_cursor = property(operator.attrgetter("_received.rest.batch.end_cursor"))

    @property
    def more_results(self) -> Any:
        # proto-plus warns of an unknown number.
        member = _MORE_RESULTS.get(self._received.rest.batch.more_results)
        return member or self.__getattr__("more_results")

    def _whole(self) -> Any:
        return self._received.whole().batch

    def _rest(self) -> Any:
        return self._received.rest.batch

    def _has_results(self) -> bool:
        return bool(self._entities)

    @property
    def entity_results(self) -> tuple[EntityResult, ...]:
        return self._entities.results() if self._entities else ()


class RunQueryResponse(_ReadResponse):
    """A proxy of a ``google.datastore.v1.RunQueryResponse``."""

    __slots__ = ("_batch",)

    _real = datastore_pb2.RunQueryResponse

    def _split(self, raw: bytes) -> bytes:
        rest, entities = split_query(raw, self._received.rpc, EntityResult)
        self._batch = QueryResultBatch.made(self._received, entities)
        return rest

    def _has_whole_entities(self) -> bool:
        # Not the results of a projection: a query for keys may have another number of results.
        kind = self._received.rest.batch.entity_result_type
        return bool(kind == query_pb2.EntityResult.ResultType.FULL)

    def _has_results(self) -> bool:
        return bool(self._batch)

    def message(self) -> Any:
        """Return the real message, made of the parsed rest and of the results.

        Raises:
            google.protobuf.message.DecodeError: if an entity is malformed.
        """
        message = self._received.rest
        for result in self._batch.entity_results:
            message.batch.entity_results.add().MergeFromString(result.serialised())
        return self._real.wrap(message)

    @property
    def batch(self) -> QueryResultBatch:
        return self._batch


_LAZY_RESPONSES: Final = frozenset((LookupResponse, RunQueryResponse))


def read_by(response: Any, reader: EntityReader | None) -> Any:
    """Have a response carry the reader that was chosen for its RPC.

    Args:
        response: lazy, or the client's own, with which an interceptor or a mock answered.
        reader: None outside of ``eager()``.
    """
    if reader is not None and type(response) in _LAZY_RESPONSES:
        response._received.rpc.reader = reader
    return response
