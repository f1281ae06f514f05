"""The texts that ndb makes of each future, for debugging.

ndb describes the argument of each batched call, which is a whole model for ``put``, and up to ten
lines of the call stack of each future. Here a batched call is described when its text is shown, and
without its stack; the text of each line is made once.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import eventloop, tasklets, utils

from lazyentity.patches.appengine.ndb.seams import PART

_MOST_LINES = 4096


class _Thread(threading.local):
    """Whether a batched call is being added, and whether the guard was intact for its batch."""

    is_adding = False
    is_intact = False


_thread = _Thread()


class _Call:
    """The text of a batched call, made when it is shown."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: Any) -> None:
        self._parts = parts

    def __str__(self) -> str:
        return "{}.add({}, {})".format(*self._parts)


def add(original: Callable[..., Any], batcher: Any, arg: Any, options: Any = None) -> Any:
    """Add a call to a batch, as ``AutoBatcher.add`` does."""
    calls = batcher._queues.get(options)
    if calls is None:
        # Once a batch, which is one RPC.
        _thread.is_intact = PART.is_intact()
    if not _thread.is_intact:
        return original(batcher, arg, options)
    _thread.is_adding = True
    try:
        future = tasklets.Future(_Call(batcher, arg, options))
    finally:
        _thread.is_adding = False
    if calls is None:
        utils.logging_debug(
            "AutoBatcher(%s): creating new queue for %r", batcher._todo_tasklet.__name__, options
        )
        if not batcher._queues:
            eventloop.add_idle(batcher._on_idle)
        calls = batcher._queues[options] = []
    calls.append((future, arg))
    if len(calls) >= batcher._limit:
        del batcher._queues[options]
        batcher.run_queue(options, calls)
    return future


def get_stack(original: Callable[..., Any], _is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``get_stack``: a batched call gets none, as with ``DEBUG`` switched off."""

    @functools.wraps(original)
    def get_stack(limit: int = 10) -> Any:
        __ndb_debug__ = "SKIP"  # noqa: F841  # the original leaves this function out of the stack
        return () if _thread.is_adding else original(limit)

    return get_stack


def code_info(original: Callable[..., Any], _is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``code_info``, which describes a line of a function."""
    # The code of an entry is kept, so that its id is not reused.
    known: dict[tuple[int, Any], tuple[Any, Any]] = {}

    @functools.wraps(original)
    def code_info(code: Any, lineno: Any = None) -> Any:
        found = known.get((id(code), lineno))
        if found is not None and utils.DEBUG:
            return found[1]
        text = original(code, lineno)
        # Without ndb's DEBUG it is empty.
        if text:
            if len(known) >= _MOST_LINES:
                known.clear()
            known[id(code), lineno] = code, text
        return text

    return code_info
