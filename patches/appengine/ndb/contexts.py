"""The context of ndb: batches of calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import eventloop, tasklets, utils


class _Info:
    """The text that tells what a future is for, made when somebody wants to see it.

    ndb makes it of every call; that of a ``put`` shows the whole model, and so reads all of it.
    """

    __slots__ = ("_argument", "_batcher", "_options")

    def __init__(self, batcher: Any, argument: Any, options: Any) -> None:
        self._batcher = batcher
        self._argument = argument
        self._options = options

    def __str__(self) -> str:
        return f"{self._batcher}.add({self._argument}, {self._options})"


def add(_original: Callable[..., Any], batcher: Any, arg: Any, options: Any = None) -> Any:
    """Add a call to a batch; return its future.

    Args:
        batcher: ndb's own ``AutoBatcher``.
        arg: the argument of the call.
        options: those of the batch.
    """
    future = tasklets.Future(_Info(batcher, arg, options))
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
