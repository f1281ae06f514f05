"""Calls in a few threads, whose results are handed out in the order of the calls."""

from __future__ import annotations

import contextvars
import functools
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

from lazyentity.codec.mode import EAGER, is_eager

_Result = TypeVar("_Result")


class Window(Generic[_Result]):
    """The calls that were started and whose results were not taken yet.

    Each call runs in the context of the code that submits it, so that ``eager()`` and tracing apply
    to its requests. Threads are started when there is a call for them, and end with the window.

    Args:
        concurrency: how many calls run at a time. With one, each runs in the thread that takes its
            result.

    Raises:
        ValueError: if ``concurrency`` is less than 1.
    """

    def __init__(self, concurrency: int) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, not {concurrency}")
        self._concurrency = concurrency
        self._pool: ThreadPoolExecutor | None = None
        self._process = 0
        self._started: deque[Callable[[], _Result]] = deque()

    def __len__(self) -> int:
        return len(self._started)

    @property
    def is_full(self) -> bool:
        """Whether another call would have to wait for a thread."""
        return len(self._started) >= self._concurrency

    def submit(self, call: Callable[[], _Result]) -> None:
        """Start a call as soon as a thread is free.

        Raises:
            RuntimeError: as :meth:`take`.
        """
        self._require_threads()
        context = contextvars.copy_context()
        if is_eager():
            # The caller may be eager by its frame, which another thread does not have.
            context.run(EAGER.set, True)
        in_context = functools.partial(context.run, call)
        if self._concurrency == 1:
            self._started.append(in_context)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._concurrency, "lazyentity-bulk")
            self._process = os.getpid()
        future: Future[_Result] = self._pool.submit(in_context)
        self._started.append(future.result)

    def take(self) -> _Result:
        """Wait for the oldest call, and return its result.

        A wait that a signal handler interrupts loses no result: the next one is for the same call,
        which runs again if there are no threads.

        Raises:
            Exception: the call raised it.
            IndexError: there is no call.
            RuntimeError: the process was forked since threads were started, which the child lacks.
        """
        self._require_threads()
        result = self._started[0]()
        self._started.popleft()
        return result

    def _require_threads(self) -> None:
        if self._pool is not None and self._process != os.getpid():
            raise RuntimeError(
                "an iterator of get_many() whose look-ups were sent by another process cannot go "
                "on in a process that was forked from it; call get_many() again here"
            )

    def cancel(self) -> None:
        """Leave out the calls that no thread has begun yet; no result may be taken after this."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
