"""Requests of a bulk call in threads, and the wait for them in the thread of the caller.

CPython runs signal handlers in the main thread alone. There a bulk call waits for its requests, and
encodes and converts entities; it sends nothing. So the exception of a handler never gets into the
code of a client or of gRPC, which would take it for an error of a request.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from lazyentity._mode import EAGER_MODE, is_eager

_Result = TypeVar("_Result")

CONCURRENCY: Final = 10
"""Requests at a time, unless the caller asks for another number."""

_CHECK_SECONDS: Final = 0.5
"""How often a wait returns to Python: a signal that another thread gets does not end the wait."""


class Call(Generic[_Result]):
    """A call that a new thread makes. The interpreter does not wait for the thread when it ends.

    The call runs in the context of the code that starts it, so that ``eager()`` and tracing apply.
    """

    def __init__(self, call: Callable[[], _Result]) -> None:
        context = contextvars.copy_context()
        if is_eager():
            # The caller may be eager by its frame, which another thread does not have.
            context.run(EAGER_MODE.set, True)
        self._call: Callable[[], Any] = functools.partial(context.run, call)
        self._process = os.getpid()
        self._outcome: tuple[Any, BaseException | None] | None = None
        # A lock: after a signal handler ended a wait for an Event, that can raise RuntimeError.
        self._has_ended = threading.Lock()
        self._has_ended.acquire()
        threading.Thread(target=self._run, name="lazyentity-bulk", daemon=True).start()

    def _run(self) -> None:
        try:
            self._outcome = self._call(), None
        except BaseException as error:  # noqa: BLE001  # raised by result(), in the other thread
            self._outcome = None, error
        self._has_ended.release()

    def result(self) -> _Result:
        """Wait for the end of the call, and return its result, any number of times.

        Raises:
            BaseException: the call raised it.
            RuntimeError: the process was forked since the call was started.
        """
        while self._outcome is None:
            if self._process != os.getpid():
                raise RuntimeError(
                    "an iterator of get_many() whose look-ups were sent by another process cannot "
                    "go on in a process that was forked from it; call get_many() again here"
                )
            self._has_ended.acquire(timeout=_CHECK_SECONDS)
        value, error = self._outcome
        if error is not None:
            raise error
        result: _Result = value
        return result
