"""The context of a thread and request, and the batches of its calls.

The variable of the environment that says that a request has begun is read several times for each
model, to see whether the thread's context is of this request. Each read of ``os.environ`` takes six
calls.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import context, eventloop, tasklets, utils

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


def is_add_replaced() -> bool:
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


def _lookup(name: str) -> Callable[[], Any]:
    """Return a function that gives the value of a variable; None, if there is none, or in doubt."""
    environ: Any = os.environ
    values = getattr(environ, "_data", None)
    if type(environ) is not os._Environ or type(values) is not dict:
        return lambda: None
    encoded = environ.encodekey(name)

    def look_up() -> Any:
        # Somebody may have put another mapping there.
        return values.get(encoded) if os.environ is environ else None

    return look_up


def get_context(original: Callable[..., Any], _is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``get_context``, which returns the context of the thread and request.

    Args:
        original: ndb's own.
    """
    if not is_upstream(original, tasklets):
        return original
    state = tasklets._state
    look_up = _lookup(tasklets._CONTEXT_KEY)

    @functools.wraps(original)
    def get_context() -> Any:
        context = state.current_context
        return context if context is not None and look_up() else original()

    return get_context
