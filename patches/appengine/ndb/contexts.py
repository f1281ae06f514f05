"""The context of ndb: batches of calls."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import context, eventloop, tasklets, utils

from lazyentity.patches.appengine.ndb.debugging import Text
from lazyentity.patches.appengine.ndb.originals import is_own
from lazyentity.patches.registry import is_of


def add(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``AutoBatcher.add``, which adds a call to a batch.

    ndb itself makes a text of every call, for its future to show. That of a ``put`` shows the whole
    model, and so reads all of it.

    Args:
        original: ndb's own method.
        is_active: says whether ndb is patched.
    """
    if not is_own(original):
        return original

    @functools.wraps(original)
    def add(self: Any, arg: Any, options: Any = None) -> Any:
        if not is_active():
            return original(self, arg, options)
        future = tasklets.Future(Text("{}.add({}, {})".format, self, arg, options))
        return enqueue(self, future, arg, options)

    return add


def adds_by_own() -> bool:
    """Say whether batches are added to by :func:`add`, and nobody wrapped that."""
    return is_of(sys.modules[__name__], context.AutoBatcher.add)


def enqueue(batcher: Any, future: Any, arg: Any, options: Any) -> Any:
    """Add a call to a batch.

    Args:
        batcher: an ``AutoBatcher``.
        future: that of the call.
        arg: the argument of the call.
        options: those of the batch.

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
