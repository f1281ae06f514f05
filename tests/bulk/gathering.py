"""Gets of several threads that a coalesced client sends together."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from google.cloud.datastore import Key

from lazyentity.bulk import Coalesced, coalescing
from tests.bulk.services import Call, RecordingService


class Gathered:
    """Gets that come while a look-up is held up, so that they go together.

    Args:
        service: holds up the look-up of the first key until all others wait for it.
        monkeypatch: makes gets wait as long as the look-up before them takes.
    """

    def __init__(self, service: RecordingService, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(coalescing, "WAIT_SECONDS", 20)
        self._service = service
        self._is_held, self._may_go = threading.Event(), threading.Event()

    def run(self, coalesced: Coalesced, first: Key, gets: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the futures of ``gets``, which run while the look-up of ``first`` is held up."""

        def hold_up(call: Call) -> None:
            if call.method == "Lookup" and not self._is_held.is_set():
                self._is_held.set()
                self._may_go.wait(20)

        self._service.calls.clear()
        refuse, self._service.before = self._service.before, hold_up
        with ThreadPoolExecutor(len(gets) + 1) as pool:
            held = pool.submit(coalesced.get, first)
            self._is_held.wait(20)
            self._service.before = refuse
            futures: list[Future[Any]] = [
                pool.submit(contextvars.copy_context().run, get) for get in gets
            ]
            while self._waiting(coalesced) < len(gets):
                threading.Event().wait(0.001)
            self._may_go.set()
            held.result(20)
            for future in futures:
                future.exception(20)
        return futures

    def _waiting(self, coalesced: Coalesced) -> int:
        batches = list(coalesced._gathering.values())
        return sum(len(calls) for batch in batches for calls in list(batch.calls.values()))
