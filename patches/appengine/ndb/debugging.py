"""Texts that ndb makes for debugging, of every future and of every step of a tasklet.

Few of these texts are ever shown. The replacements record the facts at once and make a text when
it is shown.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from google.appengine.ext.ndb import utils

_MARK = "__ndb_debug__"
_SKIP = "SKIP"

# By the identity of a code: the code, and whether it has a variable of that name.
_KNOWN: dict[int, tuple[CodeType, bool]] = {}
# By the identity of a function's code: the code and the text of the function.
_DESCRIBED: dict[int, tuple[CodeType, str]] = {}
_MOST_KNOWN = 4096


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
    """The lines of :func:`get_stack`.

    Args:
        found: for each function its code, the index of its instruction and its debugging variable.
    """

    __slots__ = ("_found",)

    def __init__(self, found: list[Any]) -> None:
        self._found = found

    def __iter__(self) -> Iterator[str]:
        each = iter(self._found)
        for code, instruction, debug in zip(each, each, each, strict=True):
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
        __ndb_debug__ = _SKIP  # noqa: F841  # the original reads it: this function is no part of it
        if not utils.DEBUG or not is_active():
            return original(limit)
        found: list[Any] = []
        frame: Any = sys._getframe(1)
        while limit > 0 and frame is not None:
            code = frame.f_code
            known = _KNOWN.get(id(code))
            if not (_is_marked(code) if known is None else known[1]):
                found += code, frame.f_lasti, None
                limit -= 1
            else:
                debug = frame.f_locals.get(_MARK)
                if debug is None or debug != _SKIP:
                    found += code, frame.f_lasti, debug
                    limit -= 1
            frame = frame.f_back
        return _Stack(found)

    return get_stack


def _is_marked(code: CodeType) -> bool:
    # The code of a module has its variables among its names.
    variables = (*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names)
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _, is_marked = _KNOWN[id(code)] = code, _MARK in variables
    return is_marked


def func_info(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``func_info``, which describes the function of a tasklet at each of its calls.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """

    @functools.wraps(original)
    def func_info(func: Any, lineno: Any = None) -> Any:
        function = getattr(func, "__wrapped__", func)
        code = function.__code__ if type(function) is FunctionType else None
        if code is None or lineno is not None or not utils.DEBUG or not is_active():
            return original(func, lineno)
        known = _DESCRIBED.get(id(code))
        if known is None:
            if len(_DESCRIBED) >= _MOST_KNOWN:
                _DESCRIBED.clear()
            known = _DESCRIBED[id(code)] = code, original(func)
        return known[1]

    return func_info


def gen_info(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``gen_info``, which describes the generator of a tasklet.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """

    @functools.wraps(original)
    def gen_info(gen: Any) -> Any:
        frame = gen.gi_frame
        if frame is None or not utils.DEBUG or not is_active():
            return original(gen)
        instruction = frame.f_lasti
        state = "initial" if instruction < 0 else "suspended"
        return Text(_describe, "running" if gen.gi_running else state, frame.f_code, instruction)

    return gen_info


def _describe(state: str, code: CodeType, instruction: int) -> str:
    return f"{state} generator {_code_info(code, instruction)}"


def _code_info(code: CodeType, instruction: int) -> Any:
    lines = (line for start, end, line in code.co_lines() if start <= instruction < end)
    return utils.code_info(code, next(lines, None))
