"""How google-cloud-ndb's ``get_multi`` gets its models: nothing is called for each key.

It does so where stock ndb calls no code of the application from the keys to the models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud import ndb
from google.cloud.datastore.key import Key
from google.cloud.ndb import _batch, _datastore_api, _eventloop, _options, model
from google.cloud.ndb import key as key_module
from google.cloud.ndb._eventloop import EventLoop
from google.cloud.ndb.context import _state
from google.cloud.ndb.tasklets import Future

from lazyentity._backend import key_bytes
from lazyentity.codec.keys import encodes_as_known
from lazyentity.patches.ndb.lookups import Get, end_as_tasklet
from lazyentity.patches.ndb.models import ModelMaker
from lazyentity.patches.ndb.reads import asks_own_policies, has_constant_policies
from lazyentity.patches.ndb.seams import (
    GET_ASYNC,
    GET_MULTI,
    IDLE_CALLBACK,
    LOOKUP,
    LOOKUP_CALLBACK,
)
from lazyentity.patches.ndb.upstream import methods_of, upstream_function
from lazyentity.patches.registry import calling
from lazyentity.patches.upstream import is_upstream

# Its decorator is in that module.
_get_multi = model.get_multi if is_upstream(model.get_multi, _options) else None
_pre_get_hook = upstream_function(model.Model, "_pre_get_hook")
_post_get_hook = upstream_function(model.Model, "_post_get_hook")
_NOT_FOUND = _datastore_api._NOT_FOUND
_LookupBatch = _datastore_api._LookupBatch
_Key = key_module.Key
_ABSENT: Any = object()
_new = object.__new__


def get_multi(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the models of keys, without a call, a future and an event of the loop for each.

    Args:
        original: ndb's own ``get_multi``, or that of somebody else, which gets the keys.
        args: its arguments.
        kwargs: its keyword arguments.
    """
    if original is not _get_multi or len(args) != 1 or type(args[0]) not in (list, tuple):
        return original(*args, **kwargs)
    # It makes the options of the arguments.
    return original([_Keys(args[0])], **kwargs)[0]


def replace_get_multi(original: Callable[..., Any], is_active: Callable[[], bool]) -> Any:
    """Replace ``get_multi`` of the package: by that of its module, as pickle finds it there."""
    if original is GET_MULTI.original:
        return GET_MULTI.replacement
    return calling("ndb.multi", "get_multi")(original, is_active)


class _Keys:
    """Keys that ndb's ``get_multi`` takes for one: the result is a list."""

    def __init__(self, keys: Any) -> None:
        self._keys = keys
        self._futures: list[Any] | None = None

    def get_async(self, **kwargs: Any) -> _Keys:
        if kwargs.keys() == {"_options"}:
            self._futures = _quiet_gets(self._keys, kwargs["_options"])
        if self._futures is None:
            self._futures = [key.get_async(**kwargs) for key in self._keys]
        return self

    def result(self) -> list[Any]:
        return [
            future._result if type(future) is _QuietGet and future.is_made else future.result()
            for future in self._futures or ()
        ]


def _quiet_gets(keys: Any, options: Any) -> list[Any] | None:
    """Return the futures of the models of keys; None, if that may call code of the application."""
    context = _state.context
    if context is None or context.global_cache is not None or not _are_passed_by(context):
        return None
    use_cache: dict[Any, Any] = {}
    asked = []
    for key in keys:
        is_quiet = type(key) is _Key and "get_async" not in vars(key)
        ds_key = key._key if is_quiet else None
        if type(ds_key) is not Key:
            return None
        kind = ds_key._path[-1]["kind"]
        if kind not in use_cache:
            if not _is_quiet(kind) or not context._use_datastore(key, options):
                return None
            use_cache[kind] = context._use_cache(key, options)
        serialised = key_bytes(ds_key)
        if serialised is None:
            return None
        cached = _ABSENT
        if use_cache[kind]:
            try:
                cached = context.cache.get_and_validate(key)
            except KeyError:
                pass
            except Exception:  # noqa: BLE001  # the get of this key alone raises it
                return None
        asked.append((key, ds_key, serialised, use_cache[kind], cached))
    futures = []
    batch: Any = None
    for key, ds_key, serialised, is_cached, cached in asked:
        future = _new(_QuietGet)
        futures.append(future)
        if cached is not _ABSENT:
            future._result = cached
            future._done = future.is_made = True
            continue
        future._use_cache = is_cached
        if batch is None or batch.full():
            batch = _batch.get_batch(_LookupBatch, options)
            if batch.todo:
                # Others wait for it, too.
                return None
            batch._lazyentity_round = group = _Round(context)
        future._context, future._round, future._key = context, group, key
        if _is_as_made(ds_key):
            future.key = ds_key
        batch.todo.setdefault(serialised, []).append(future)
        group.count += 1
    return futures


def _is_as_made(key: Any) -> bool:
    """Whether the client makes the same key of the key's message, its ancestors included."""
    namespace, database = key._namespace, key._database
    if not ((namespace or namespace is None) and (database or database is None)):
        return False
    if not all(key._flat_path):
        return False
    while (parent := key._parent) is not None:
        # A key keeps the parent that it was made with, any number of elements above it.
        if type(parent) is not Key or len(parent._flat_path) + 2 != len(key._flat_path):
            return False
        key = parent
    return True


_PASSED_BY = [
    (Future, methods_of(Future, "__init__", "_finish", "add_done_callback", "check_success")),
    (Future, methods_of(Future, "exception", "result", "set_exception", "set_result", "wait")),
    (EventLoop, methods_of(EventLoop, "_run_current", "call_soon", "run0", "run1")),
    (_LookupBatch, methods_of(_LookupBatch, "__init__", "add", "full")),
]


def _are_passed_by(context: Any) -> bool:
    """Whether all that is not called for each key is ndb's own, or ours."""
    return (
        asks_own_policies(context)
        and encodes_as_known()
        and all(own.are_upstream(holder) for holder, own in _PASSED_BY)
        and is_upstream(_eventloop.run1, _eventloop)
        and is_upstream(_batch.get_batch, _batch)
        and is_upstream(_Key.kind, key_module)
        and _Key.get_async is GET_ASYNC.replacement
        and _datastore_api.lookup is LOOKUP.replacement
        and _datastore_api._LookupBatch is _LookupBatch
        and _LookupBatch.idle_callback is IDLE_CALLBACK.replacement
        and _LookupBatch.lookup_callback is LOOKUP_CALLBACK.replacement
        and is_upstream(IDLE_CALLBACK.original, _datastore_api)
        and is_upstream(LOOKUP_CALLBACK.original, _datastore_api)
        and ndb._datastore_api is _datastore_api
        and ModelMaker.is_usable()
    )


def _is_quiet(kind: Any) -> bool:
    """Whether the class of a kind overrides no hooks and no policies."""
    chosen = model.Model._kind_map.get(kind)
    return chosen is None or (
        is_upstream(chosen._pre_get_hook, _pre_get_hook)
        and is_upstream(chosen._post_get_hook, _post_get_hook)
        and has_constant_policies(chosen)
    )


class _Round(ModelMaker):
    """The futures of a ``get_multi`` in one batch.

    Attributes:
        count: of the futures.
        arrived: those that a response has an entity for, or ndb's ``_NOT_FOUND``, with that; None
            unless their models are made at once.
    """

    def __init__(self, context: Any) -> None:
        super().__init__()
        self._context = context
        self.count = 0
        self.arrived: list[tuple[_QuietGet, Any]] | None = None

    def receive(self, batch: Any, give: Callable[[], None]) -> None:
        """Give the futures of a batch their entities by ``give``, and then their models.

        Stock ndb makes the models in the next events of its loop. It runs nothing before these if
        no event waits, and nobody else waits for the batch.
        """
        arrived: list[tuple[_QuietGet, Any]] = []
        if (
            _state.context is self._context
            and not self._context.eventloop.current
            and sum(map(len, batch.todo.values())) == self.count
            and self.is_usable()
        ):
            self.arrived = arrived
        is_quiet = False
        try:
            give()
            is_quiet = True
        finally:
            self.arrived = None
            for future, entity in arrived:
                is_quiet = is_quiet and self._is_made(future, entity)
                if not is_quiet and not future._done:
                    future.go_on(entity)

    def _is_made(self, future: _QuietGet, entity: Any) -> bool:
        is_found = entity is not _NOT_FOUND
        try:
            made = self.make(entity, future.key) if is_found else None
        except Exception as error:  # noqa: BLE001  # the result of the future raises it
            end_as_tasklet(future, error)
            return False
        if is_found and made is None:
            return False
        if future._use_cache:
            self._context.cache[future._key] = made
        future._result = made
        future._done = future.is_made = True
        return True


class _QuietGet(Get):
    """A future of ``get_multi`` alone, which nobody else sees.

    Attributes:
        key: the key of the client, if it makes the same one of the entity, else None.
        is_made: whether it has a model, or None, and no error.
    """

    # As Future sets them.
    _callbacks: Any = ()
    _done = False
    _exception = None
    _result = None
    info = "get"

    _api = _datastore_api
    _use_cache = False
    _waiting_on = None
    is_made = False
    key: Any = None

    def set_result(self, entity: Any) -> None:
        """Take the entity, or ndb's ``_NOT_FOUND``, that a batch gives to its futures."""
        if self._waiting_on is not None:
            raise RuntimeError("Cannot set result on future that is done.")
        self._waiting_on = entity
        if self._round.arrived is None:
            self.go_on(entity)
        else:
            self._round.arrived.append((self, entity))

    def go_on(self, entity: Any) -> None:
        """Make the model in an event of the loop."""
        looked_up = Future(info="lookup")
        looked_up.set_result(entity)
        self._context.eventloop.call_soon(self._convert, looked_up)
