"""Texts that ndb makes for debugging, of every future and of every step of a tasklet.

Hardly any is ever shown. Here they are made when they are; what they tell is found at once.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from google.appengine.ext.ndb import utils

_MARK = "__ndb_debug__"
_SKIP = "SKIP"

# Whether the code of a function has a variable of that name, by the identity of the code.
_MARKED: dict[int, tuple[CodeType, bool]] = {}
_MOST_MARKED = 4096


class Text:
    """A text that is made when it is shown.

    Args:
        make: a function that makes it.
        arguments: its arguments.
    """

    __slots__ = ("_arguments", "_make")

    def __init__(self, make: Callable[..., str], *arguments: Any) -> None:
        self._make = make
        self._arguments = arguments

    def __str__(self) -> str:
        return self._make(*self._arguments)


class _Stack:
    """The lines of :func:`get_stack`."""

    __slots__ = ("_frames",)

    def __init__(self, frames: list[tuple[CodeType, int, Any]]) -> None:
        self._frames = frames

    def __iter__(self) -> Iterator[str]:
        for code, instruction, debug in self._frames:
            line = _code_info(code, instruction)
            yield line if debug is None else f"{line} # {debug}"

    def __repr__(self) -> str:
        return repr(list(self))


def get_stack(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``get_stack``, which describes the functions that are being called.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """

    @functools.wraps(original)
    def get_stack(limit: int = 10) -> Any:
        __ndb_debug__ = _SKIP
        if not utils.DEBUG or not is_active():
            return original(limit)
        frames: list[tuple[CodeType, int, Any]] = []
        frame: Any = sys._getframe(1)
        while frame is not None and len(frames) < limit:
            code = frame.f_code
            marked = _MARKED.get(id(code))
            if marked is None:
                marked = _find_mark(code)
            debug = frame.f_locals.get(_MARK) if marked[1] else None
            if debug is None or debug != _SKIP:
                frames.append((code, frame.f_lasti, debug))
            frame = frame.f_back
        return _Stack(frames)

    return get_stack


def _find_mark(code: CodeType) -> tuple[CodeType, bool]:
    if len(_MARKED) >= _MOST_MARKED:
        _MARKED.clear()
    # Modules have it among their names, if at all.
    variables = (*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names)
    marked = _MARKED[id(code)] = code, _MARK in variables
    return marked


def gen_info(original: Callable[..., Any], generator: Any) -> Any:
    """Describe a generator.

    Args:
        original: ndb's own ``gen_info``.
        generator: that of a tasklet.
    """
    frame = generator.gi_frame
    if frame is None or not utils.DEBUG:
        return original(generator)
    instruction = frame.f_lasti
    if generator.gi_running:
        state = "running"
    else:
        state = "initial" if instruction < 0 else "suspended"
    return Text(_describe, state, frame.f_code, instruction)


def _describe(state: str, code: CodeType, instruction: int) -> str:
    return f"{state} generator {_code_info(code, instruction)}"


def _code_info(code: CodeType, instruction: int) -> Any:
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    return utils.code_info(code, next(lines, None))
