"""Reads of google-cloud-ndb from the API and from its global cache, left undecoded."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.datastore.key import Key as DatastoreKey
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import entity as entity_pb2, query as query_pb2
from google.cloud.ndb import _datastore_query
from google.cloud.ndb.context import get_context
from wrapt import ObjectProxy

from lazyentity._backend import EntityBytes, EntityReader, ReadRpc
from lazyentity.patches import notices
from lazyentity.patches.api.responses import EntityHandle, EntityResult, RunQueryResponse
from lazyentity.patches.api.transports import LazyDatastoreGrpcTransport
from lazyentity.patches.ndb.mappings import ndb_key
from lazyentity.patches.ndb.seams import CLIENT, MESSAGE_CONVERSION
from lazyentity.readers import reader_of_rpc

_Method = Callable[[Any], Any]

_FULL = query_pb2.EntityResult.ResultType.FULL


def _query_response(raw: bytes, reader: EntityReader | None = None) -> Any:
    response = RunQueryResponse.deserialize(raw, reader)
    if response.batch.entity_result_type == _FULL:
        return response
    # ndb takes properties out of the results of projections before it makes models of them.
    return response.message()


class LazyTransport(LazyDatastoreGrpcTransport):
    """The transport that ndb calls, with lazy responses to ``lookup`` and ``run_query``."""

    _read_query = staticmethod(_query_response)


def stub(original: Callable[[], Any]) -> Any:
    """Return the transport by which the current context's client calls the API.

    Only the transport that a client makes for itself has a lazy counterpart; anything else (a mock,
    a subclass) is returned as it is, and so is every transport while somebody else's function
    converts the responses. The connection is the client's own.

    Args:
        original: ndb's own ``stub``.
    """
    if notices.waiting:
        notices.log()
    transport = original()
    if type(transport) is not DatastoreGrpcTransport or not CLIENT.is_intact():
        return transport
    # ndb takes up the response elsewhere: the deserialiser has to know the reader.
    reader = reader_of_rpc()
    # Kept on the transport itself: they live and die together.
    kept = vars(transport)
    name = "_lazyentity_transport" if reader is None else "_lazyentity_stock_transport"
    lazy = kept.get(name)
    if lazy is None:
        made = LazyTransport(channel=transport.grpc_channel, reader=reader)
        lazy = kept.setdefault(name, made)
    return lazy


def replace_kind(original: property, is_active: Callable[[], bool]) -> property:
    """Replace ``google.cloud.datastore.Key.kind``, which copies the whole path first."""
    get_original = original.__get__

    @functools.wraps(original.fget)  # type: ignore[arg-type]  # a getter it has
    def kind(key: Any) -> Any:
        if type(key) is DatastoreKey and is_active():
            return key._path[-1]["kind"]
        return get_original(key)

    return property(kind)


def replace_result_key(original: _Method, is_active: Callable[[], bool]) -> _Method:
    """Replace ``_Result.key``: without proto-plus and without parsing the entity.

    ndb asks each result for its key twice, and keeps it.
    """

    @functools.wraps(original)
    def key(self: Any) -> Any:
        if self._key is None and type(self.result_pb) is EntityResult and is_active():
            ds_key = self.result_pb.entity_key()
            if ds_key is not None:
                self._key = ndb_key(ds_key)
        return original(self) if self._key is None else self._key

    return key


def replace_result_entity(original: _Method, is_active: Callable[[], bool]) -> _Method:
    """Replace ``_Result.entity``; the key, which ndb has by then, is not decoded anew."""

    @functools.wraps(original)
    def entity(self: Any) -> Any:
        if (
            type(self.result_pb) is not EntityResult
            # proto-plus compares its enumerations in Python.
            or self.result_type is not _datastore_query.RESULT_TYPE_FULL
            or not is_active()
        ):
            return original(self)
        # As ndb's own method does for whole entities, the only ones that are lazy.
        context = get_context()
        model = self.check_cache(context)
        if model is _datastore_query._KEY_NOT_IN_CACHE:
            key = self._key
            model = MESSAGE_CONVERSION.replacement(self.result_pb.entity, key and key._key)
            if context._use_cache(model.key, self._query_options):
                context.cache[model.key] = model
        return model

    return entity


class CachedEntity(EntityHandle):
    """An entity of the global cache, which ndb merges its bytes into."""

    __slots__ = ()

    @property
    def _pb(self) -> Any:
        return super()._pb if self.raw else _Empty(self)


class _Empty:
    """The message of a :class:`CachedEntity` before any bytes are merged into it."""

    __slots__ = ("_entity",)

    def __init__(self, entity: CachedEntity) -> None:
        self._entity = entity

    def MergeFromString(self, raw: bytes) -> None:  # noqa: N802  # the name that messages have
        self._entity._receive(raw, self._entity.rpc)


class EntityTypes(ObjectProxy[Any]):
    """The module of the ``Entity`` message, as ndb's calls to the API see it.

    Those calls make a message only to merge bytes of the global cache into it.
    """

    def __init__(self, module: Any, is_active: Callable[[], bool]) -> None:
        super().__init__(module)
        self._self_is_active = is_active

    @property
    def Entity(self) -> Any:  # noqa: N802  # the name of the message
        is_lazy = self._self_is_active() and CLIENT.is_intact()
        return _new_cached_entity if is_lazy else self.__wrapped__.Entity


def replace_entity_types(module: Any, is_active: Callable[[], bool]) -> Any:
    """Replace the module by an :class:`EntityTypes`; somebody else's in its place stays."""
    return EntityTypes(module, is_active) if module is entity_pb2 else module


def _new_cached_entity() -> CachedEntity:
    # Calling the class of a proxy makes the real message.
    entity: CachedEntity = EntityBytes.__new__(CachedEntity)
    rpc = ReadRpc()
    rpc.reader = reader_of_rpc()
    entity._receive(b"", rpc)
    return entity
