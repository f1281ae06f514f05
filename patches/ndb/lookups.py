"""How google-cloud-ndb gets models by their keys: many futures, one request, one response."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud import ndb
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.ndb import _batch, _datastore_api, model, utils
from google.cloud.ndb.context import _state, get_context
from google.cloud.ndb.tasklets import Future, Return, _get_return_value

from lazyentity._backend import key_bytes
from lazyentity.codec import shadow
from lazyentity.codec.keys import encodes_as_known
from lazyentity.patches.api.responses import LookupResponse
from lazyentity.patches.ndb.upstream import upstream_function
from lazyentity.patches.upstream import is_upstream

_post_get_hook = upstream_function(model.Model, "_post_get_hook")
"""ndb's own, which does nothing."""
_batch_add = upstream_function(_datastore_api._LookupBatch, "add")


def end_as_tasklet(future: Any, error: Exception) -> None:
    """End a future as a tasklet that raises ``error`` ends its future."""
    if isinstance(error, Return):
        Future.set_result(future, _get_return_value(error))
    elif isinstance(error, StopIteration):
        # Python raises this in place of a StopIteration in a generator.
        failure = RuntimeError("generator raised StopIteration")
        failure.__cause__ = error
        future.set_exception(failure)
    else:
        future.set_exception(error)


def lookup(original: Callable[[Any, Any], Any], key: Any, options: Any) -> Any:
    """Return the future of the entity of a key.

    Without a global cache, that is the future of the batch of lookups, whose result ndb's own
    tasklet would only pass on.

    Args:
        original: ndb's own ``lookup``.
        key: a ``google.cloud.datastore.Key``.
        options: ndb's own ``ReadOptions``.
    """
    context = get_context()
    if context.global_cache is not None:
        return original(key, options)
    try:
        if not context._use_datastore(key, options):
            raise TypeError("use_global_cache and use_datastore can't both be False")
        return _add(_open_batch(context, options), key)
    except Exception as error:  # noqa: BLE001  # the result of the future raises it
        future = Future(info="lookup")
        end_as_tasklet(future, error)
        return future


def _open_batch(context: Any, options: Any) -> Any:
    """Return the batch that a key is looked up in, without comparing options where possible.

    ``get_multi`` passes one object to the look-up of every key.
    """
    kind = _datastore_api._LookupBatch
    for batch in context.batches.get(kind, {}).values():
        if batch.options is options and not batch.full():
            return batch
    return _batch.get_batch(kind, options)


def _add(batch: Any, key: Any) -> Any:
    """Return what the batch's ``add`` returns, but for the future's text."""
    serialised = key_bytes(key) if type(key) is Key and encodes_as_known() else None
    if serialised is None or type(batch).add is not _batch_add:
        return batch.add(key)
    future = Future(info="lookup")
    batch.todo.setdefault(serialised, []).append(future)
    return future


def get_async(original: Callable[..., Any], key: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the future of the model of a key.

    ndb itself makes options of the arguments, even if its own options are the only argument, and a
    tasklet with a generator for each key.

    Args:
        original: ndb's own ``Key.get_async``.
        key: a ``ndb.Key``.
        args: the arguments of ``original``.
        kwargs: its keyword arguments; ``get_multi`` passes ``_options`` alone.
    """
    if args or kwargs.keys() != {"_options"}:
        return original(key, *args, **kwargs)
    model_class = model.Model._kind_map.get(key.kind())
    if model_class:
        model_class._pre_get_hook(key)
    future = Get(key, kwargs["_options"])
    if model_class:
        hook = model_class._post_get_hook
        if not is_upstream(hook, _post_get_hook):
            future.add_done_callback(functools.partial(hook, key))
    return future


class Get(Future):  # type: ignore[misc]  # ndb has no types
    """The future of the model of a key, in place of the tasklet in ndb's ``Key.get_async``.

    Args:
        key: a ``ndb.Key``.
        options: ndb's own ``ReadOptions``.
    """

    def __init__(self, key: Any, options: Any) -> None:
        super().__init__(info="get")
        context = self._context = get_context()
        # Looked up at each call, as ndb does: it may be a mock.
        self._api = ndb._datastore_api
        self._key = key
        self._waiting_on: Any = None
        try:
            self._use_cache = context._use_cache(key, options)
            if self._use_cache:
                try:
                    cached = context.cache.get_and_validate(key)
                except KeyError:
                    pass
                else:
                    self.set_result(cached)
                    return
            looked_up = self._api.lookup(key._key, options)
            looked_up.add_done_callback(self._looked_up)
            # As in a tasklet, also where it is done already: that cannot be cancelled.
            self._waiting_on = looked_up
        except Exception as error:  # noqa: BLE001  # as above
            end_as_tasklet(self, error)

    def _looked_up(self, entity: Any) -> None:
        self._waiting_on = None
        # The event loop goes on, as for a tasklet, so that the call stack stays shallow.
        self._context.eventloop.call_soon(self._convert, entity)

    def _convert(self, entity: Any) -> None:
        """End with the model of the entity that the future ``entity`` has."""
        try:
            if _state.context is self._context:
                found = self._found(entity)
            else:
                with self._context.use():
                    found = self._found(entity)
        except Exception as error:  # noqa: BLE001  # as above
            end_as_tasklet(self, error)
        else:
            super().set_result(found)

    def _found(self, entity: Any) -> Any:
        message = entity.result()
        found = None
        if message is not self._api._NOT_FOUND:
            found = model._entity_from_protobuf(message)
        if self._use_cache:
            self._context.cache[self._key] = found
        return found

    def cancel(self) -> None:
        """Cancel the look-up."""
        if self._waiting_on:
            self._waiting_on.cancel()
        else:
            super().cancel()


def idle_callback(original: Callable[[Any], Any], batch: Any) -> None:
    """Send the keys of a batch, without a message of proto-plus for each.

    Args:
        original: the method ``idle_callback`` of the batch.
        batch: ndb's own ``_LookupBatch``.
    """
    if (
        not is_upstream(_datastore_api._datastore_lookup, _datastore_api)
        or _datastore_api.datastore_pb2 is not datastore_pb2
    ):
        original(batch)
        return
    # As ndb's own method and its _datastore_lookup().
    options = batch.options
    read_options = _datastore_api.get_read_options(options)
    client = get_context().client
    request = datastore_pb2.LookupRequest(
        project_id=client.project, database_id=client.database, read_options=read_options
    )
    request._pb.MergeFromString(shadow.LookupKeys(keys=batch.todo).SerializeToString())
    metadata = _datastore_api._add_routing_info((), request)
    call = _datastore_api.make_call(
        "lookup", request, retries=options.retries, timeout=options.timeout, metadata=metadata
    )
    call.add_done_callback(batch.lookup_callback)


def lookup_callback(original: Callable[[Any, Any], Any], batch: Any, call: Any) -> None:
    """Give the futures of a batch the found entities, or models to futures of a get_multi.

    Args:
        original: the method ``lookup_callback`` of the batch.
        batch: ndb's own ``_LookupBatch``.
        call: the future of the response.
    """
    give = functools.partial(_give, original, batch, call)
    group = vars(batch).get("_lazyentity_round")
    if group is None:
        give()
    else:
        group.receive(batch, give)


def _give(original: Callable[[Any, Any], Any], batch: Any, call: Any) -> None:
    response: Any = call.result() if call.exception() is None else None
    is_plain = (
        type(response) is LookupResponse
        and not response.missing
        and not response.deferred
        # ndb logs the response then.
        and not utils.DEBUG
    )
    if not is_plain:
        original(batch, call)
        return
    for result in response.found:
        entity = result.entity
        # The batch has the futures by the encoding of their keys, which servers mostly share.
        futures = batch.todo.get(entity.serialised_key)
        if futures is None:
            futures = batch.todo[entity.key._pb.SerializeToString()]
        for future in futures:
            future.set_result(entity)
