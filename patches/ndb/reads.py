"""Reads of google-cloud-ndb from the API and from its global cache, left undecoded."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from google.cloud.datastore.key import Key as DatastoreKey
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.cloud.ndb import _datastore_query, model
from google.cloud.ndb import context as context_module
from google.cloud.ndb.context import _state, get_context
from google.cloud.ndb.tasklets import Future, tasklet

from lazyentity._backend import EntityBytes, EntityReader, ReadRpc
from lazyentity.patches import announcement
from lazyentity.patches.api.entities import EntityHandle, EntityResult
from lazyentity.patches.api.responses import QueryResultBatch, RunQueryResponse
from lazyentity.patches.api.transports import LazyDatastoreGrpcTransport
from lazyentity.patches.ndb.mappings import makes_keys, ndb_key
from lazyentity.patches.ndb.models import ModelMaker
from lazyentity.patches.ndb.seams import (
    CLIENT,
    HAS_NEXT_ASYNC,
    MESSAGE_CONVERSION,
    RESULT_ENTITY,
    RESULT_KEY,
)
from lazyentity.patches.ndb.upstream import methods_of, upstream_function
from lazyentity.patches.upstream import is_upstream
from lazyentity.patches.wrapt_parts import ObjectProxy
from lazyentity.readers import reader_of_rpc

_Method = Callable[[Any], Any]

_FULL = query_pb2.EntityResult.ResultType.FULL


def _codes_of_flags() -> frozenset[Any]:
    probe: Any = SimpleNamespace()
    context_module.Context.set_cache_policy(probe, False)
    context_module.Context.set_datastore_policy(probe, False)
    return frozenset((probe.cache_policy.__code__, probe.datastore_policy.__code__))


_CODES_OF_FLAGS: Final = _codes_of_flags()
_cache_policy = upstream_function(context_module, "_default_cache_policy")
_datastore_policy = upstream_function(context_module, "_default_datastore_policy")
_use_cache = upstream_function(context_module.Context, "_use_cache")
_use_datastore = upstream_function(context_module.Context, "_use_datastore")


def asks_own_policies(context: Any) -> bool:
    """Whether a context asks ndb's own policies, or the attributes of a class, alone."""
    kind = type(context)
    return (
        kind is context_module.Context
        and kind._use_cache is _use_cache
        and kind._use_datastore is _use_datastore
        and _is_known(context.cache_policy, _cache_policy)
        and _is_known(context.datastore_policy, _datastore_policy)
    )


def _is_known(policy: Any, default: Any) -> bool:
    # Each policy of ndb that asks a class has the same code, whatever attribute it asks for.
    return policy is default or (
        type(policy) is FunctionType and policy.__code__ in _CODES_OF_FLAGS
    )


def has_constant_policies(model_class: Any) -> bool:
    """Whether the policies in attributes of a class are no functions; None is no class."""
    names = "_use_cache", "_use_datastore"
    return all(type(getattr(model_class, name, None)) in (bool, type(None)) for name in names)


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
    if announcement.waiting:
        announcement.log()
    transport = original()
    if type(transport) is not DatastoreGrpcTransport or not CLIENT.is_upstream():
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
    is_kept = is_upstream(original, _datastore_query)

    @functools.wraps(original)
    def key_of(result: Any) -> Any:
        if result._key is None and type(result.result_pb) is EntityResult and is_active():
            ds_key = result.result_pb.entity_key()
            if ds_key is not None:
                result._key = ndb_key(ds_key)
        made = result._key
        return original(result) if made is None or not is_kept else made

    return key_of


def replace_result_entity(original: _Method, is_active: Callable[[], bool]) -> _Method:
    """Replace ``_Result.entity``; the key, which ndb has by then, is not decoded anew."""

    @functools.wraps(original)
    def entity(result: Any) -> Any:
        if (
            type(result.result_pb) is not EntityResult
            # proto-plus compares its enumerations in Python.
            or result.result_type is not _datastore_query.RESULT_TYPE_FULL
            or not is_active()
            or model._entity_from_protobuf is not MESSAGE_CONVERSION.replacement
        ):
            return original(result)
        # As ndb's own method does for whole entities, the only ones that are lazy.
        context = _state.context or get_context()
        made = result.check_cache(context)
        if made is _datastore_query._KEY_NOT_IN_CACHE:
            key = result._key
            made = MESSAGE_CONVERSION.replacement(result.result_pb.entity, key and key._key)
            if context._use_cache(made.key, result._query_options):
                context.cache[made.key] = made
        return made

    return entity


def has_next_async(original: Callable[[Any], Any], results: Any) -> Any:
    """Return the future of whether there is another result.

    If the page has one at hand, the future is done, as that of ndb's own tasklet is, but there is
    no tasklet.

    Args:
        original: the method ``has_next_async`` of the results.
        results: ndb's own ``_QueryIteratorImpl``.
    """
    if not results._batch or results._index >= len(results._batch):
        return original(results)
    future = Future(info="has_next_async")
    future.set_result(True)
    return future


@tasklet  # type: ignore[untyped-decorator]  # ndb has no types
def fetch(_original: Callable[[Any], Any], query: Any) -> Generator[Any, Any, list[Any]]:
    """Return the future of the results of a query, in a list.

    ndb's own tasklet makes an object of each result, and goes through the event loop to the next.

    Args:
        query: ndb's own ``QueryOptions``.
    """
    results = _datastore_query.iterate(query)
    fetched: list[Any] = []
    if type(results) is not _Results or not _are_passed_by():
        while (yield results.has_next_async()):
            fetched.append(results.next())
        return fetched
    # As ndb's own _next_batch() and next().
    is_last = False
    while not is_last:
        response = yield _datastore_query._datastore_run_query(query)
        batch = response.batch
        page = _page(query, batch)
        fetched += page
        is_last = batch.more_results != _datastore_query.NOT_FINISHED
        if not is_last:
            limit, offset = query.limit, query.offset
            query = query.copy(
                start_cursor=_datastore_query.Cursor(batch.end_cursor),
                offset=offset - batch.skipped_results if offset else offset,
                limit=None if limit is None else limit - len(page),
            )
    return fetched


_Results = _datastore_query._QueryIteratorImpl
_Result = _datastore_query._Result
_PASSED_BY: Final = (
    (_Results, methods_of(_Results, "__init__", "_next_batch", "has_next", "next")),
    (_Result, methods_of(_Result, "__init__", "check_cache")),
)


def _are_passed_by() -> bool:
    """Whether all that is not called for each result is ndb's own, or ours."""
    return (
        is_upstream(_datastore_query.iterate, _datastore_query)
        and _datastore_query._Result is _Result
        and all(own.are_upstream(holder) for holder, own in _PASSED_BY)
        and _Results.has_next_async is HAS_NEXT_ASYNC.replacement
        and _Result.key is RESULT_KEY.replacement
        and _Result.entity is RESULT_ENTITY.replacement
        and is_upstream(RESULT_KEY.original, _datastore_query)
        and is_upstream(_datastore_query.Cursor.__init__, _datastore_query)
        and makes_keys()
    )


def _page(query: Any, batch: Any) -> list[Any]:
    """Return the results of a response.

    Args:
        query: as of :func:`fetch`.
        batch: of the response.
    """
    context = get_context()
    kind, results = batch.entity_result_type, batch.entity_results
    page: list[Any] = []
    keys = _quiet_keys(results, context, query) if type(batch) is QueryResultBatch else None
    if keys is None or kind != _FULL:
        # As stock ndb.
        rest = [_Result(kind, each, query.order_by, query_options=query) for each in results]
        if kind == _FULL:
            rest = [each for each in rest if each.check_cache(context) is not None]
        return [each.entity() for each in rest]
    maker: ModelMaker | None = ModelMaker()
    for result, ds_key, cache_key in keys:
        if cache_key is not None:
            with contextlib.suppress(KeyError):
                page.append(context.cache.get_and_validate(cache_key))
                continue
        made = None if maker is None else maker.make(result.entity, ds_key)
        if made is None:
            # From here on code of the application may run between the models.
            maker = None
            made = _Result(kind, result, query.order_by, query_options=query).entity()
        elif cache_key is not None:
            context.cache[made._entity_key] = made
        page.append(made)
    return page


def _quiet_keys(results: Any, context: Any, query: Any) -> list[tuple[Any, Any, Any]] | None:
    """Return results with the client's key of each, and ndb's key if the context caches it.

    None, if that may call code of the application. Cached deletions are left out.
    """
    if not asks_own_policies(context) or not ModelMaker.is_usable():
        return None
    use_cache: dict[Any, Any] = {}
    keys = []
    for result in results:
        ds_key = result.entity_key() if type(result) is EntityResult else None
        if ds_key is None:
            return None
        kind = ds_key._path[-1]["kind"]
        if kind not in use_cache:
            if not has_constant_policies(model.Model._kind_map.get(kind)):
                return None
            use_cache[kind] = context._use_cache(ndb_key(ds_key), query)
        key = ndb_key(ds_key) if use_cache[kind] else None
        if key is not None:
            with contextlib.suppress(KeyError):
                if context.cache.get_and_validate(key) is None:
                    continue
        keys.append((result, ds_key, key))
    return keys


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
        is_lazy = self._self_is_active() and CLIENT.is_upstream()
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
