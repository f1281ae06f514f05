"""The context of ndb: batches of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import eventloop, tasklets, utils

from lazyentity.patches.appengine.ndb.debugging import Text


def add(_original: Callable[..., Any], batcher: Any, arg: Any, options: Any = None) -> Any:
    """Add a call to a batch; return its future.

    ndb itself makes a text of every call, for its future to show. That of a ``put`` shows the whole
    model, and so reads all of it.

    Args:
        batcher: ndb's own ``AutoBatcher``.
        arg: the argument of the call.
        options: those of the batch.
    """
    future = tasklets.Future(Text("{}.add({}, {})".format, batcher, arg, options))
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
