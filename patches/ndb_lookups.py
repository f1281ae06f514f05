"""How google-cloud-ndb gets models by their keys: many futures, one request, one response."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

from google.cloud.datastore import key as key_module
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import entity as entity_pb2
from google.cloud.ndb import _batch, _datastore_api, model, utils
from google.cloud.ndb._options import Options
from google.cloud.ndb.context import _state, get_context
from google.cloud.ndb.tasklets import Future, Return, _get_return_value

from lazyentity.codec import messages
from lazyentity.patches.datastore import KEY_ENCODING
from lazyentity.patches.ndb_own import is_method_of, own
from lazyentity.patches.protoplus import wrapped
from lazyentity.patches.registry import is_of
from lazyentity.patches.requests import key_to_message, lookup_request
from lazyentity.patches.responses import LookupResponse

_post_get_hook = own(model.Model, "_post_get_hook")
"""ndb's own, which does nothing."""


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
        hook = model_class._post_get_hook
        if not is_method_of(_post_get_hook, hook):
            future.add_done_callback(functools.partial(hook, key))
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
                try:
                    cached = context.cache.get_and_validate(key)
                except KeyError:
                    pass
                else:
                    self.set_result(cached)
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
            if _state.context is self._context:
                found = self._found(entity)
            else:
                with self._context.use():
                    found = self._found(entity)
        except Exception as error:  # noqa: BLE001  # as above
            _end_as_tasklet(self, error)
        else:
            self.set_result(found)

    def _found(self, entity: Any) -> Any:
        message = entity.result()
        is_found = message is not _datastore_api._NOT_FOUND
        found = model._entity_from_protobuf(message) if is_found else None
        if self._use_cache:
            self._context.cache[self._key] = found
        return found

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


def add(otherwise: Callable[[Any, Any], Any], batch: Any, key: Any) -> Any:
    """Return the future of the entity of a key, which is looked up with the others of the batch.

    Args:
        otherwise: the method ``add`` of the batch.
        batch: ndb's own ``_LookupBatch``.
        key: a ``google.cloud.datastore.Key``.
    """
    to_protobuf = Key.to_protobuf
    if KEY_ENCODING.stands(to_protobuf):
        to_protobuf = KEY_ENCODING.original
    message = key_to_message(key) if is_of(key_module, to_protobuf) else None
    if message is None:
        return otherwise(batch, key)
    future = Future(info=f"Lookup({key})")
    batch.todo.setdefault(message.SerializeToString(), []).append(future)
    return future


def idle_callback(_otherwise: Callable[[Any], Any], batch: Any) -> None:
    """Send the request of a batch.

    Args:
        batch: ndb's own ``_LookupBatch``.
    """
    options = batch.options
    call = _datastore_api._datastore_lookup(
        [wrapped(entity_pb2.Key, messages.Key.FromString(key)) for key in batch.todo],
        _datastore_api.get_read_options(options),
        retries=options.retries,
        timeout=options.timeout,
    )
    call.add_done_callback(batch.lookup_callback)


def lookup_callback(otherwise: Callable[[Any, Any], Any], batch: Any, call: Any) -> None:
    """Give the futures of a batch the entities that were found.

    Args:
        otherwise: the method ``lookup_callback`` of the batch.
        batch: ndb's own ``_LookupBatch``.
        call: the future of the response.
    """
    response: Any = call.result() if call.exception() is None else None
    is_plain = (
        type(response) is LookupResponse
        and not response.missing
        and not response.deferred
        # ndb logs the response then.
        and not utils.DEBUG
    )
    if not is_plain:
        otherwise(batch, call)
        return
    for result in response.found:
        entity = result.entity
        # The batch has its keys by their encoding, which is mostly that of the server.
        futures = batch.todo.get(entity.serialised_key)
        if futures is None:
            futures = batch.todo[entity.key._pb.SerializeToString()]
        for future in futures:
            future.set_result(entity)


def datastore_lookup(
    otherwise: Callable[..., Any],
    keys: Iterable[Any],
    read_options: Any,
    retries: Any = None,
    timeout: Any = None,
    metadata: Any = (),
) -> Any:
    """Send a lookup as ndb's own ``_datastore_lookup`` does, its request made without proto-plus.

    Args:
        otherwise: ndb's own.
        keys: ``Key`` messages, in proto-plus.
        read_options: the ``ReadOptions`` message, in proto-plus.
        retries: as ndb has them.
        timeout: seconds, or None.
        metadata: pairs of strings.

    Returns:
        The future of the response.
    """
    client = get_context().client
    keys = list(keys)
    fields = {
        "project_id": client.project,
        "database_id": client.database,
        "keys": keys,
        "read_options": read_options,
    }
    request = lookup_request(fields)
    if request is fields:
        # Of other types than ndb's own calls give.
        return otherwise(keys, read_options, retries, timeout, metadata)
    routed = _datastore_api._add_routing_info(metadata, request)
    return _datastore_api.make_call(
        "lookup", request, retries=retries, timeout=timeout, metadata=routed
    )
