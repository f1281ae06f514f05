"""Reads of google-cloud-ndb from the API and from its global cache, left undecoded."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

from google.cloud.datastore.key import Key as DatastoreKey
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.cloud.ndb import _datastore_query, model
from google.cloud.ndb import key as key_module
from google.cloud.ndb.context import _state, get_context
from google.cloud.ndb.tasklets import Future, tasklet

from lazyentity._backend import EntityBytes, EntityReader, ReadRpc
from lazyentity.patches import announcement
from lazyentity.patches.api.entities import EntityHandle, EntityResult
from lazyentity.patches.api.responses import RunQueryResponse
from lazyentity.patches.api.transports import LazyDatastoreGrpcTransport
from lazyentity.patches.ndb.seams import CLIENT, HAS_NEXT_ASYNC, MESSAGE_CONVERSION, RESULT_KEY
from lazyentity.patches.ndb.upstream import upstream_function
from lazyentity.patches.upstream import is_upstream
from lazyentity.patches.wrapt_parts import ObjectProxy
from lazyentity.readers import reader_of_rpc

_Method = Callable[[Any], Any]

_FULL = query_pb2.EntityResult.ResultType.FULL
_check_cache = upstream_function(_datastore_query._Result, "check_cache")
_CHECKING: Final = frozenset(("check_cache", "key"))

_Key: Final = key_module.Key
# It shows what the class has now.
_key_attributes: Final = vars(_Key)
_found: Final = _key_attributes["_from_ds_key"]
_from_ds_key: Final = _found if is_upstream(_found, key_module) else None


def ndb_key(ds_key: Any) -> Any:
    """Make a key as ``Key._from_ds_key()`` does; it is called if somebody replaced it."""
    kind = key_module.Key
    if kind is not _Key or _key_attributes["_from_ds_key"] is not _from_ds_key:
        return kind._from_ds_key(ds_key)
    key = object.__new__(_Key)
    key._key, key._reference = ds_key, None
    return key


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
    # The method key() is replaced after this one.
    keeps_key = is_upstream(_datastore_query._Result.key, _datastore_query)

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
        key, kind = result._key, type(result)
        made = _datastore_query._KEY_NOT_IN_CACHE
        if (
            not keeps_key
            or key is None
            or kind.key is not RESULT_KEY.replacement
            or kind.check_cache is not _check_cache
            or not vars(result).keys().isdisjoint(_CHECKING)
        ):
            made = result.check_cache(context)
        # As check_cache(), which first asks for the key.
        elif context._use_cache(key, result._query_options):
            with contextlib.suppress(KeyError):
                made = context.cache.get_and_validate(key)
        if made is _datastore_query._KEY_NOT_IN_CACHE:
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
def fetch(_original: Callable[[Any], Any], query: Any) -> Generator[Any, bool, list[Any]]:
    """Return the future of the results of a query, in a list.

    ndb's own tasklet goes through the event loop from each result to the next. This one does so
    only if the next result is not at hand.

    Args:
        query: ndb's own ``QueryOptions``.
    """
    results = _datastore_query.iterate(query)
    fetched = []
    while (yield results.has_next_async()):
        fetched.append(results.next())
        if type(results) is _datastore_query._QueryIteratorImpl:
            fetched += _at_hand(results)
    return fetched


def _at_hand(results: Any) -> Iterator[Any]:
    """Make the rest of a batch."""
    kind = type(results)
    if kind.has_next_async is not HAS_NEXT_ASYNC.replacement or not all(
        is_upstream(method, _datastore_query) for method in (kind.next, kind.has_next)
    ):
        for _ in range(len(results._batch) - results._index):
            yield results.next()
        return
    # As ndb's own next(), which first asks for each whether there is one.
    for result in results._batch[results._index :]:
        results._index += 1
        results._cursor_before = results._cursor_after
        results._cursor_after = result.cursor
        yield result if results._raw else result.entity()


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
