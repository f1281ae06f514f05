"""Gets of several threads that a coalesced client sends together."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from google.cloud.datastore import Key

from lazyentity.bulk import Coalesced, coalescing
from tests.bulk.services import Call, RecordingService


class Held:
    """Holds up the first look-up of a service.

    Args:
        then: called with all other requests.
    """

    def __init__(self, then: Callable[[Call], None] = lambda call: None) -> None:
        self._then = then
        self.is_held, self.may_go = threading.Event(), threading.Event()

    def __call__(self, call: Call) -> None:
        if call.method == "Lookup" and not self.is_held.is_set():
            self.is_held.set()
            self.may_go.wait(20)
        else:
            self._then(call)


class Gathered:
    """Gets that come while a look-up is held up, so that they go together.

    Args:
        service: holds up the look-up of the first key until all others wait for it.
        monkeypatch: makes gets wait as long as the look-up before them takes.
    """

    def __init__(self, service: RecordingService, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(coalescing, "WAIT_SECONDS", 20)
        self._service = service

    def get(self, coalesced: Coalesced, keys: Sequence[Key]) -> list[Any]:
        """Return the futures of gets of all keys but the first, whose look-up is held up."""
        gets = [functools.partial(coalesced.get, key) for key in keys[1:]]
        return self.run(coalesced, keys[0], gets)

    def run(self, coalesced: Coalesced, first: Key, gets: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the futures of ``gets``, which run while the look-up of ``first`` is held up."""
        self._service.calls.clear()
        self._service.before = held = Held(self._service.before)
        with ThreadPoolExecutor(len(gets) + 1) as pool:
            leading = pool.submit(coalesced.get, first)
            held.is_held.wait(20)
            futures: list[Future[Any]] = [
                pool.submit(contextvars.copy_context().run, get) for get in gets
            ]
            while self._waiting(coalesced) < len(gets):
                threading.Event().wait(0.001)
            held.may_go.set()
            leading.result(20)
            for future in futures:
                future.exception(20)
        return futures

    def _waiting(self, coalesced: Coalesced) -> int:
        batches = list(coalesced._gathering.values())
        return sum(len(calls) for batch in batches for calls in list(batch.calls.values()))
