"""The points of a program at which CPython may run a signal handler, and exceptions at these."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

_CHECKED = frozenset(
    ("CALL", "CALL_FUNCTION", "CALL_FUNCTION_EX", "CALL_FUNCTION_KW", "CALL_KW", "CALL_METHOD")
).union(("JUMP_ABSOLUTE", "JUMP_BACKWARD"))
"""After these instructions, and where a function begins, handlers run."""


class Points:
    """Counts the points that a thread passes, and raises an exception at one of them.

    Args:
        error: what is raised.
        at: the number of the point, from 1 on; 0 for none.
        within: parts of paths. Only points in files whose path has one of them are counted.

    Attributes:
        passed: how many points were passed.
        is_raised: whether ``error`` was raised, and not where Python ignores it.
    """

    def __init__(self, error: BaseException, at: int, within: Sequence[str]) -> None:
        self._error = error
        self._at = at
        self._within = within
        self._is_checked: dict[CodeType, list[bool]] = {}
        self.passed = 0
        self.is_raised = False

    @contextmanager
    def traced(self) -> Iterator[None]:
        """Count, in this thread, the points that are passed inside."""
        before, report = sys.gettrace(), sys.unraisablehook

        def ignore(unraisable: Any) -> None:
            # As of a handler that runs inside of a finalizer.
            if unraisable.exc_value is self._error:
                self.is_raised = False
            else:
                report(unraisable)

        # Held: CPython 3.11 collects garbage between looking the function up and calling it, and a
        # finalizer that ran then had taken the last reference away.
        begin = self._begin
        sys.unraisablehook = ignore
        sys.settrace(begin)
        try:
            yield
        finally:
            sys.settrace(before)
            sys.unraisablehook = report

    def _begin(self, frame: FrameType, event: str, _argument: object) -> Any:
        path = frame.f_code.co_filename
        if self.is_raised or not any(part in path for part in self._within):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        self._pass()
        last = -1

        def local(frame: FrameType, event: str, _argument: object) -> Any:
            nonlocal last
            if event == "opcode":
                if last >= 0 and self._checked(frame.f_code)[last // 2]:
                    self._pass()
                last = frame.f_lasti
            elif event == "exception":
                # No handler runs while an exception is on its way.
                last = -1
            return local

        return local

    def _pass(self) -> None:
        self.passed += 1
        if self.passed == self._at:
            self.is_raised = True
            sys.settrace(None)
            self._act()

    def _act(self) -> None:
        raise self._error

    def _checked(self, code: CodeType) -> list[bool]:
        found = self._is_checked.get(code)
        if found is None:
            found = [dis.opname[opcode] in _CHECKED for opcode in code.co_code[::2]]
            self._is_checked[code] = found
        return found
