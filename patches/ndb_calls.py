"""What google-cloud-ndb reads from the API and from its global cache, left undecoded."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Generator, Iterable
from typing import Any

import wrapt
from google.cloud.datastore_v1.services.datastore.transports.grpc import DatastoreGrpcTransport
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import query as query_pb2
from google.cloud.ndb import _batch, _datastore_api, _datastore_query, model
from google.cloud.ndb._options import Options
from google.cloud.ndb.context import _state, get_context
from google.cloud.ndb.key import Key
from google.cloud.ndb.tasklets import Future, Return, _get_return_value, tasklet

from lazyentity._backend import Conversion, EntityBytes
from lazyentity._eager import is_eager
from lazyentity.entity import LazyEntity
from lazyentity.operations import stock_from_bytes
from lazyentity.patches.protoplus import wrapped
from lazyentity.patches.responses import (
    EntityHandle,
    EntityResult,
    LookupResponse,
    RunQueryResponse,
)
from lazyentity.patches.transports import LazyDatastoreGrpcTransport

_LookupRequest: Any = datastore_pb2.LookupRequest.pb()
_FULL = query_pb2.EntityResult.ResultType.FULL


def _eager_lookup_response(raw: bytes) -> Any:
    return LookupResponse.deserialize(raw).for_eager_rpc()


def _query_response(raw: bytes) -> Any:
    response = RunQueryResponse.deserialize(raw)
    if response.batch.entity_result_type == _FULL:
        return response
    # ndb takes properties out of the results of projections before it makes models of them.
    return datastore_pb2.RunQueryResponse.deserialize(raw)


def _eager_query_response(raw: bytes) -> Any:
    response = _query_response(raw)
    return response.for_eager_rpc() if type(response) is RunQueryResponse else response


class LazyTransport(LazyDatastoreGrpcTransport):
    """The transport that ndb calls, with lazy responses to ``lookup`` and ``run_query``."""

    _read_query = staticmethod(_query_response)


class EagerTransport(LazyDatastoreGrpcTransport):
    """The same for what is called inside ``eager()``."""

    _read_lookup = staticmethod(_eager_lookup_response)
    _read_query = staticmethod(_eager_query_response)


def stub(otherwise: Callable[[], Any]) -> Any:
    """Return what the current context's client calls the API by.

    Only the transport that a client makes for itself has a lazy counterpart; anything else (a mock,
    a subclass) is returned as it is. The connection is the client's own.

    Args:
        otherwise: ndb's own ``stub``.
    """
    transport = otherwise()
    if type(transport) is not DatastoreGrpcTransport:
        return transport
    kind = EagerTransport if is_eager() else LazyTransport
    # Kept on the transport itself: the two live and die together.
    kept = vars(transport)
    name = f"_lazyentity_{kind.__name__}"
    lazy = kept.get(name)
    return kept.setdefault(name, kind(channel=transport.grpc_channel)) if lazy is None else lazy


def result_key(otherwise: Callable[[Any], Any], result: Any) -> Any:
    """Return the key of a result of a query, without proto-plus.

    Args:
        otherwise: the method ``key`` of the result.
        result: ndb's own ``_Result``.
    """
    if result._key is None and type(result.result_pb) is EntityResult:
        ds_key = result.result_pb.entity.to_entity().key
        if ds_key is not None:
            result._key = Key._from_ds_key(ds_key)
    return otherwise(result)


def has_next_async(otherwise: Callable[[Any], Any], results: Any) -> Any:
    """Return the future that says whether there is another result.

    Of a page that has one at hand that is a future that is done, as that of ndb's own tasklet is,
    but without the tasklet.

    Args:
        otherwise: the method ``has_next_async`` of the results.
        results: ndb's own ``_QueryIteratorImpl``.
    """
    if not results._batch or results._index >= len(results._batch):
        return otherwise(results)
    future = Future(info="has_next_async")
    future.set_result(True)
    return future


@tasklet  # type: ignore[untyped-decorator]  # ndb has no types
def fetch(_otherwise: Callable[[Any], Any], query: Any) -> Generator[Any, bool, list[Any]]:
    """Return the future of the results of a query, in a list.

    ndb's own tasklet goes by way of the event loop from each result to the next. This one does so
    where the next is not at hand.

    Args:
        query: ndb's own ``QueryOptions``.
    """
    results = _datastore_query.iterate(query)
    fetched = []
    while (yield results.has_next_async()):
        fetched.append(results.next())
        if type(results) is _datastore_query._QueryIteratorImpl:
            at_hand = len(results._batch) - results._index
            fetched += [results.next() for _ in range(at_hand)]
    return fetched


def _end_as_tasklet(future: Any, error: Exception) -> None:
    """End a future as that of a tasklet ends if the tasklet raises ``error``."""
    if isinstance(error, Return):
        future.set_result(_get_return_value(error))
    elif isinstance(error, StopIteration):
        # What Python makes of it in a generator.
        failure = RuntimeError("generator raised StopIteration")
        failure.__cause__ = error
        future.set_exception(failure)
    else:
        future.set_exception(error)


def lookup(otherwise: Callable[[Any, Any], Any], key: Any, options: Any) -> Any:
    """Return the future of the entity of a key.

    Where there is no global cache, that is what the batch of lookups gives; ndb's own tasklet would
    only pass it on.

    Args:
        otherwise: ndb's own ``lookup``.
        key: a ``google.cloud.datastore.Key``.
        options: ndb's own ``ReadOptions``.
    """
    context = get_context()
    if context.global_cache is not None:
        return otherwise(key, options)
    try:
        if not context._use_datastore(key, options):
            raise TypeError("use_global_cache and use_datastore can't both be False")
        return _batch.get_batch(_datastore_api._LookupBatch, options).add(key)
    except Exception as error:  # noqa: BLE001  # whoever asks for the result gets it
        future = Future(info="lookup")
        _end_as_tasklet(future, error)
        return future


def get_async(otherwise: Callable[..., Any], key: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the future of the model of a key.

    ndb makes options of the arguments, also where there are none but its own options, and a tasklet
    with its generator for each key.

    Args:
        otherwise: ndb's own ``Key.get_async``.
        key: a ``ndb.Key``.
        args: its arguments.
        kwargs: its arguments, of which ``get_multi`` passes ``_options`` alone.
    """
    if args or kwargs.keys() != {"_options"}:
        return otherwise(key, *args, **kwargs)
    model_class = model.Model._kind_map.get(key.kind())
    if model_class:
        model_class._pre_get_hook(key)
    future = Get(key, kwargs["_options"])
    if model_class:
        future.add_done_callback(functools.partial(model_class._post_get_hook, key))
    return future


class Get(Future):  # type: ignore[misc]  # ndb has no types
    """The future of the model of a key: what the tasklet in ndb's ``Key.get_async`` comes to.

    Args:
        key: a ``ndb.Key``.
        options: ndb's own ``ReadOptions``.
    """

    def __init__(self, key: Any, options: Any) -> None:
        super().__init__(info="get")
        context = self._context = get_context()
        self._key = key
        self._waiting_on: Any = None
        try:
            self._use_cache = context._use_cache(key, options)
            if self._use_cache:
                with contextlib.suppress(KeyError):
                    self.set_result(context.cache.get_and_validate(key))
                    return
            looked_up = _datastore_api.lookup(key._key, options)
            looked_up.add_done_callback(self._looked_up)
            # As in a tasklet, also where it is done already: that cannot be cancelled.
            self._waiting_on = looked_up
        except Exception as error:  # noqa: BLE001  # as above
            _end_as_tasklet(self, error)

    def _looked_up(self, entity: Any) -> None:
        self._waiting_on = None
        # As a tasklet goes on: not in here, for the call stack to stay shallow.
        self._context.eventloop.call_soon(self._convert, entity)

    def _convert(self, entity: Any) -> None:
        try:
            with self._context.use():
                message = entity.result()
                is_found = message is not _datastore_api._NOT_FOUND
                found = model._entity_from_protobuf(message) if is_found else None
                if self._use_cache:
                    self._context.cache[self._key] = found
        except Exception as error:  # noqa: BLE001  # as above
            _end_as_tasklet(self, error)
        else:
            self.set_result(found)

    def cancel(self) -> None:
        """Cancel what is waited for."""
        if self._waiting_on:
            self._waiting_on.cancel()
        else:
            super().cancel()


@functools.cache
def _reader_of(kind: Any) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """Return the names of the options of a class, sorted, and what reads them all."""
    names = tuple(sorted(set(kind.slots())))
    return names, operator.attrgetter(*names)


def get_batch(otherwise: Callable[[Any, Any], Any], batch_cls: Any, options: Any = None) -> Any:
    """Return the batch that calls with these options are collected in.

    Args:
        otherwise: ndb's own ``get_batch``, which starts batches.
        batch_cls: the class of the batch.
        options: ndb's own ``Options``; of anything else ndb makes what it can.
    """
    batches = get_context().batches.get(batch_cls)
    if not batches or not isinstance(options, Options):
        return otherwise(batch_cls, options)
    kind: Any = type(options)
    names, read = _reader_of(kind)
    key = tuple(
        [option for option in zip(names, read(options), strict=True) if option[1] is not None]
    )
    batch = batches.get(key)
    return otherwise(batch_cls, options) if batch is None or batch.full() else batch


def datastore_lookup(
    _otherwise: Callable[..., Any],
    keys: Iterable[Any],
    read_options: Any,
    retries: Any = None,
    timeout: Any = None,
    metadata: Any = (),
) -> Any:
    """Send a lookup as ndb's own ``_datastore_lookup`` does, its request made without proto-plus.

    Args:
        keys: ``Key`` messages, in proto-plus.
        read_options: the ``ReadOptions`` message, in proto-plus.
        retries: as ndb has them.
        timeout: seconds, or None.
        metadata: pairs of strings.

    Returns:
        The future of the response.
    """
    client = get_context().client
    message = _LookupRequest(
        project_id=client.project,
        database_id=client.database,
        keys=[key._pb for key in keys],
        read_options=read_options._pb,
    )
    request = wrapped(datastore_pb2.LookupRequest, message)
    routed = _datastore_api._add_routing_info(metadata, request)
    return _datastore_api.make_call(
        "lookup", request, retries=retries, timeout=timeout, metadata=routed
    )


def use(_otherwise: Callable[[Any], Any], context: Any) -> Use:
    """Return what makes an ndb context the current one, as its method ``use`` does."""
    return Use(context)


_NOT_ENTERED = object()


class Use(contextlib.ContextDecorator):
    """Makes an ndb context the current one, as what its method ``use`` returns does."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._previous: Any = _NOT_ENTERED

    def _recreate_cm(self) -> Use:
        # For each call of a decorated function: they may be calls within calls.
        return Use(self._context)

    def __enter__(self) -> Any:
        if self._previous is not _NOT_ENTERED:
            # The error of what contextlib makes of a generator, as ndb's own is.
            raise AttributeError("a context manager that was made by use() is entered once")
        context = self._context
        previous = self._previous = _state.context
        # What goes on by turns, each in its context, mostly stays in the same.
        if previous is not context:
            _state.context = context
        if not previous:
            _state.toplevel_context = context
            context.rpc_time = 0
            context.wait_time = 0
        return context

    def __exit__(self, *error: object) -> None:
        previous = self._previous
        if previous is _NOT_ENTERED:
            raise RuntimeError("the context manager was not entered")
        if not previous:
            _state.toplevel_context = None
        elif previous is not self._context:
            previous.cache.update(self._context.cache)
        if _state.context is not previous:
            _state.context = previous


class CachedEntity(EntityHandle):
    """An entity of the global cache, which ndb merges its bytes into."""

    __slots__ = ()

    @property
    def _pb(self) -> Any:
        return self.inner if self.raw else _Empty(self)


class _Empty:
    """The message in a :class:`CachedEntity` that nothing was merged into yet."""

    __slots__ = ("_entity",)

    def __init__(self, entity: CachedEntity) -> None:
        self._entity = entity

    def MergeFromString(self, raw: bytes) -> None:  # noqa: N802  # the name that messages have
        self._entity._receive(raw, self._entity.conversion)


class EntityTypes(wrapt.ObjectProxy[Any]):
    """The module of the ``Entity`` message, as ndb's calls to the API see it.

    They make a message only to merge what the global cache has into it.
    """

    def __init__(self, module: Any, is_active: Callable[[], bool]) -> None:
        super().__init__(module)
        self._self_is_active = is_active

    @property
    def Entity(self) -> Any:  # noqa: N802  # the name of the message
        return _new_cached_entity if self._self_is_active() else self.__wrapped__.Entity


def _new_cached_entity() -> CachedEntity:
    # Called, a stand-in makes what it stands in for.
    entity: CachedEntity = EntityBytes.__new__(CachedEntity)
    conversion = Conversion(LazyEntity, stock_from_bytes)
    conversion.eager = is_eager()
    entity._receive(b"", conversion)
    return entity
