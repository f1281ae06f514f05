"""Calls in a few threads, whose results are handed out in the order of the calls."""

from __future__ import annotations

import contextvars
import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, Generic, NoReturn, TypeVar

from lazyentity._mode import EAGER, is_eager
from lazyentity.bulk.cancelling import Cancellation, cancelled_by
from lazyentity.codec.interruptions import error_of_handler

_Result = TypeVar("_Result")

_CHECK_SECONDS: Final = 0.5
"""How often a wait returns to Python, which handles signals then on systems without EINTR."""


class _Call(Generic[_Result]):
    """A call, which a thread makes."""

    __slots__ = ("_call", "_has_ended", "_outcome")

    def __init__(self, call: Callable[[], _Result]) -> None:
        self._call = call
        self._outcome: Callable[[], _Result] | None = None
        # A lock, because a wait for an Event that a signal handler ends can raise RuntimeError.
        self._has_ended = threading.Lock()
        self._has_ended.acquire()

    def run(self) -> None:
        """Make the call, and keep its outcome."""
        try:
            result = self._call()
        except BaseException as error:  # noqa: BLE001  # raised by result()
            self._outcome = functools.partial(_raise, error)
        else:
            self._outcome = lambda: result
        self._has_ended.release()

    def result(self) -> _Result:
        """Wait for the end of the call, and return its result.

        Raises:
            BaseException: the call raised it.
        """
        while self._outcome is None:
            self._has_ended.acquire(timeout=_CHECK_SECONDS)
        return self._outcome()


def _raise(error: BaseException) -> NoReturn:
    raise error


def _work(waiting: deque[_Call[_Result]], cancellation: Cancellation) -> None:
    with cancelled_by(cancellation):
        while True:
            try:
                call = waiting.popleft()
            except IndexError:
                return
            call.run()


class Window(Generic[_Result]):
    """The calls that were started and whose results were not taken yet.

    Each call runs in the context of the code that submits it, so that ``eager()`` and tracing apply
    to its requests. Threads end when no call waits for one. The interpreter does not wait for them.

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
        self._process = 0
        self._calls: deque[Callable[[], _Result]] = deque()
        self._waiting: deque[_Call[_Result]] = deque()
        self._cancellation = Cancellation()

    def __len__(self) -> int:
        return len(self._calls)

    @property
    def is_full(self) -> bool:
        """Whether another call would have to wait for a thread."""
        return len(self._calls) >= self._concurrency

    def submit(self, *calls: Callable[[], _Result]) -> None:
        """Start calls as soon as threads are free.

        Raises:
            RuntimeError: as :meth:`require_threads`.
        """
        self.require_threads()
        contextual = map(_in_context, calls)
        if self._concurrency == 1:
            self._calls.extend(contextual)
            return
        self._process = os.getpid()
        made = list(map(_Call, contextual))
        free = self._concurrency - len(self._calls)
        # All of them before a thread starts, which ends when none waits.
        self._calls.extend(call.result for call in made)
        self._waiting.extend(made)
        for _ in made[: max(free, 0)]:
            self._start_thread()

    def take(self) -> _Result:
        """Wait for the oldest call, and return its result.

        Raises:
            Exception: the call raised it.
            IndexError: there is no call.
            RuntimeError: as :meth:`require_threads`.
        """
        self.require_threads()
        result = self._calls[0]()
        self._calls.popleft()
        return result

    def cancel(self) -> None:
        """Cancel the calls, whose requests are neither begun nor sent again after this."""
        if self._process in (0, os.getpid()):
            self._cancellation.cancel()
        self._waiting.clear()
        self._calls.clear()

    def cancel_surely(self) -> None:
        """As :meth:`cancel`, in the thread of the caller, even if a second signal interrupts it."""
        try:
            self.cancel()
        finally:
            self.cancel()

    def require_threads(self) -> None:
        """Check that the threads of the calls are there.

        Raises:
            RuntimeError: the process was forked since they were started.
        """
        if self._process not in (0, os.getpid()):
            raise RuntimeError(
                "an iterator of get_many() whose look-ups were sent by another process cannot go "
                "on in a process that was forked from it; call get_many() again here"
            )

    def _start_thread(self) -> None:
        handled = sys.exc_info()[1]
        thread = threading.Thread(
            target=_work,
            args=(self._waiting, self._cancellation),
            name="lazyentity-bulk",
            daemon=True,
        )
        try:
            thread.start()
        except Exception as error:
            # Threading raises its own error if a signal handler raises inside of start().
            interruption = error_of_handler(error, handled)
            if interruption is None:
                raise
            raise interruption from interruption.__cause__


def _in_context(call: Callable[[], _Result]) -> Callable[[], _Result]:
    context = contextvars.copy_context()
    if is_eager():
        # The caller may be eager by its frame, which another thread does not have.
        context.run(EAGER.set, True)
    return functools.partial(context.run, call)
