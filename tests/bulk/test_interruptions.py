"""coalesce(): exceptions that a signal handler raises, at any line."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import CodeType, FrameType
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bulk import Coalesced, coalesce, coalescing
from tests.bulk.services import Call, RecordingService, stored

pytestmark = pytest.mark.any_backend

_KIND = "Item"

_FUNCTIONS: list[Callable[..., Any]] = [
    Coalesced.get,
    Coalesced._join,
    Coalesced._lone,
    Coalesced._look_up,
    Coalesced._end_look_up,
    Coalesced._leave,
    Coalesced._withdraw,
]


def _lines(code: CodeType) -> list[int]:
    """Return the lines of a function's body."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return sorted(lines - {code.co_firstlineno})


def _interrupted_at(code: CodeType, line: int, get: Callable[[], Any]) -> BaseException | None:
    """Run a get that is interrupted when it first comes to a line; return its error."""
    before = sys.gettrace()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code is not code:
            return None
        if event == "line" and frame.f_lineno == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        get()
    except KeyboardInterrupt as error:
        return error
    finally:
        sys.settrace(before)
    return None


class _Held:
    """Holds up the first look-up of a service."""

    def __init__(self) -> None:
        self.is_held, self.may_go = threading.Event(), threading.Event()

    def __call__(self, call: Call) -> None:
        if not self.is_held.is_set():
            self.is_held.set()
            self.may_go.wait(20)


@pytest.mark.parametrize("role", ["alone", "leads", "follows"])
@pytest.mark.parametrize("function", _FUNCTIONS, ids=lambda function: function.__name__)
def test_at_every_line(
    client: datastore.Client,
    service: RecordingService,
    monkeypatch: pytest.MonkeyPatch,
    function: Callable[..., Any],
    role: str,
) -> None:
    """Other threads get their entities, and the gets after them are joined or sent as before."""
    monkeypatch.setattr(coalescing, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(coalescing, "_CHECK_SECONDS", 0.02)
    keys = stored(client, _KIND, 5)
    code = function.__code__
    for line in _lines(code):
        coalesced: Any = coalesce(client)
        held = _Held()
        service.before = held
        with ThreadPoolExecutor(5) as pool:
            others = []
            if role == "alone":
                held.is_held.set()
            else:
                others.append(pool.submit(coalesced.get, keys[0]))
                held.is_held.wait(20)
            if role == "follows":
                others.append(pool.submit(coalesced.get, keys[1]))
            get = functools.partial(coalesced.get, keys[2])
            pool.submit(_interrupted_at, code, line, get)
            others += [pool.submit(coalesced.get, key) for key in keys[3:]]
            threading.Timer(0.02, held.may_go.set).start()
            for other in others:
                assert other.result(10)["number"] in (0, 1, 3, 4)
        assert coalesced._under_way == set(), line
        assert all(batch.has_ended for batch in coalesced._gathering.values())
        service.forget()
        assert coalesced.get(keys[2])["number"] == 2
        assert service.sizes("Lookup") == [1]
