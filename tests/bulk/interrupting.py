"""Signals that a service sends to the main thread while it holds a request."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.bulk.services import Call, RecordingService


class Signalled:
    """Interrupts the main thread at a request of a method, which is held until then.

    Args:
        service: whose requests are held.
        error: raised by the handler.
        method: of the requests.
        at: the number of the request, from 1 on. Later ones are held, too.
        hangs: whether all requests are held until :attr:`may_go` is set.

    Attributes:
        may_go: set when the requests may be answered.
        raised_at: the time at which the handler raised, as of ``time.monotonic()``.
    """

    def __init__(
        self,
        service: RecordingService,
        error: BaseException,
        method: str,
        *,
        at: int = 1,
        hangs: bool = False,
    ) -> None:
        self._error = error
        self._method = method
        self._left = at
        self._hangs = hangs
        self._has_raised = threading.Event()
        self.may_go = threading.Event()
        self.raised_at = 0.0
        self._then = service.before
        service.before = self

    def __call__(self, call: Call) -> None:
        if call.method != self._method:
            return
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGUSR1)
        if self._left <= 0:
            self._wait_for_handler()
        if self._hangs:
            self.may_go.wait(60)
        self._then(call)

    def _wait_for_handler(self) -> None:
        # A signal that arrives just before the main thread waits for a lock does not wake it.
        while not self._has_raised.wait(1):
            os.kill(os.getpid(), signal.SIGUSR1)

    def _raise(self, *_: object) -> None:
        self._has_raised.set()
        self.raised_at = time.monotonic()
        raise self._error

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Install the handler, and let all requests go in the end."""
        before = signal.signal(signal.SIGUSR1, self._raise)
        try:
            yield
        finally:
            self._has_raised.set()
            self.may_go.set()
            signal.signal(signal.SIGUSR1, before)


def raised_by(call: Callable[[], Any]) -> BaseException | None:
    """Return the exception that a call raises."""
    try:
        call()
    except BaseException as error:  # noqa: BLE001  # compared by the test
        return error
    return None


def ended_threads() -> bool:
    """Wait for the threads of bulk calls; return whether they have ended."""
    threads = [each for each in threading.enumerate() if each.name.startswith("lazyentity-bulk")]
    for thread in threads:
        # A handler that raised inside of start() leaves a thread that begins later, or never.
        if thread._started.wait(20):  # type: ignore[attr-defined]  # typeshed leaves it out
            thread.join(20)
    return not any(thread.is_alive() for thread in threads)
