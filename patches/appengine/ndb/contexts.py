"""The context of ndb: batches of calls, and which services it uses."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from google.appengine.datastore.datastore_rpc import BaseConfiguration
from google.appengine.ext.ndb import context, eventloop, key, model, tasklets, utils

from lazyentity.patches.appengine.ndb.debugging import describe_call
from lazyentity.patches.upstream import is_upstream


def add(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``AutoBatcher.add``, which adds a call to a batch.

    ndb describes each call in a text for its future. The text of a ``put`` contains the whole
    model, so making it reads every property.

    Args:
        original: ndb's own method.
        is_active: says whether ndb is patched.
    """
    if not is_upstream(original, context):
        return original

    @functools.wraps(original)
    def add(self: Any, arg: Any, options: Any = None) -> Any:
        if not is_active():
            return original(self, arg, options)
        future = tasklets.Future()
        del future._info
        describe_call(future, self, arg, options)
        return enqueue(self, future, arg, options)

    return add


def adds_by_own() -> bool:
    """Say whether ``AutoBatcher.add`` is the replacement, which nobody wrapped."""
    return is_upstream(context.AutoBatcher.add, sys.modules[__name__])


def enqueue(batcher: Any, future: Any, arg: Any, options: Any) -> Any:
    """Add a call to a batch.

    Args:
        batcher: an ``AutoBatcher``.
        future: the future of the call.
        arg: the argument of the call.
        options: the options of the batch.

    Returns:
        The future.
    """
    queues = batcher._queues
    calls = queues.get(options)
    if calls is None:
        utils.logging_debug(
            "AutoBatcher(%s): creating new queue for %r", batcher._todo_tasklet.__name__, options
        )
        if not queues:
            eventloop.add_idle(batcher._on_idle)
        calls = queues[options] = []
    calls.append((future, arg))
    if len(calls) >= batcher._limit:
        del queues[options]
        batcher.run_queue(options, calls)
    return future


def uses(original: Callable[..., Any], _is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``Context._use_cache``, ``_use_datastore`` or ``_use_memcache``.

    ndb calls these methods for every model that it reads or writes. The call's options give the
    answer, or else the model's class. ndb itself needs some ten calls to find the answer.

    Args:
        original: ndb's own method.
    """
    name = original.__name__
    option = name.removeprefix("_")
    policy_name = f"_{option.removeprefix('use_')}_policy"
    policy = getattr(context.Context, policy_name)
    if not (
        is_upstream(original, context)
        and is_upstream(policy, context)
        and is_upstream(_Key.kind, key)
    ):
        return original
    own_option = getattr(context.ContextOptions, option)
    kind_map = model.Model._kind_map

    def chosen(options: Any) -> Any:
        # Options of another class may lack the option, and then set no value for it.
        if options is None:
            return None
        if not isinstance(options, BaseConfiguration):
            return _UNKNOWN
        flag = options._values.get(option)
        return flag if flag is None or options._options[option] is own_option else _UNKNOWN

    @functools.wraps(original)
    def use(self: Any, key: Any, options: Any = None) -> Any:
        flag = None if options is None else chosen(options)
        if flag is None and type(key) is _Key and getattr(self, policy_name) is policy:
            model_class = kind_map.get(key._Key__pairs[-1][0].decode())
            flag = getattr(model_class, name, None)
            if flag is None:
                flag = chosen(self._conn.config)
                flag = True if flag is None else flag
            elif type(flag) is not bool:
                flag = None
        return original(self, key, options) if flag is None or flag is _UNKNOWN else flag

    return use


_Key = key.Key
_UNKNOWN = object()
