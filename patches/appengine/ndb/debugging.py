"""Texts that ndb makes for debugging, of every future and of every step of a tasklet.

ndb makes the same few lines again and again: one for each instruction that calls it. The
replacements keep the lines, and give ndb's own strings and lists. The text of a call of a batch,
which can contain a whole model, is made when somebody looks at it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from google.appengine.ext.ndb import utils

from lazyentity.codec.describing import safe_str
from lazyentity.patches.upstream import is_upstream

_MARK = "__ndb_debug__"
_SKIP = "SKIP"


class _Code(NamedTuple):
    """The debugging lines of a code object.

    Attributes:
        code: itself: its id may not be reused.
        is_marked: whether it has a variable that ndb looks for.
        lines: by the index of an instruction, ndb's line for it.
    """

    code: CodeType
    is_marked: bool
    lines: dict[int, str]


# By the identity of a code.
_CODES: dict[int, _Code] = {}
_MOST_KNOWN = 4096


def get_stack(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    """Replace ``get_stack``, which describes the functions that are being called.

    Args:
        original: ndb's own.
        is_active: says whether ndb is patched.
    """
    if not is_upstream(original, utils):
        return original

    @functools.wraps(original)
    def get_stack(limit: int = 10) -> Any:
        __ndb_debug__ = _SKIP  # noqa: F841  # the original reads it: this function is no part of it
        if not utils.DEBUG or not is_active():
            return original(limit)
        lines: list[str] = []
        frame: Any = sys._getframe(1)
        while len(lines) < limit and frame is not None:
            code = frame.f_code
            known = _CODES.get(id(code)) or _code(code)
            line = known[2].get(frame.f_lasti) or _line(known, frame)
            if not known[1]:
                lines.append(line)
            else:
                debug = frame.f_locals.get(_MARK)
                if debug is None:
                    lines.append(line)
                elif debug != _SKIP:
                    lines.append(line + " # " + str(debug))
            frame = frame.f_back
        return lines

    return get_stack


def _code(code: CodeType) -> _Code:
    # The code of a module has its variables among its names.
    variables = (*code.co_varnames, *code.co_cellvars, *code.co_freevars, *code.co_names)
    if len(_CODES) >= _MOST_KNOWN:
        _CODES.clear()
    known = _CODES[id(code)] = _Code(code, _MARK in variables, {})
    return known


def _line(known: _Code, frame: FrameType) -> str:
    line: str = utils.frame_info(frame)
    known.lines[frame.f_lasti] = line
    return line


_CALL = "_lazyentity_call"


def describe_call(future: Any, batcher: Any, arg: Any, options: Any) -> None:
    """Give a future the text of a call of a batch, made when somebody looks at it.

    Args:
        future: of the call; it has no text yet.
        batcher: an ``AutoBatcher``.
        arg: the argument of the call.
        options: the options of the batch.
    """
    vars(future)[_CALL] = batcher, arg, options


class _InfoOfCall:
    """The attribute ``_info`` of a future that :func:`describe_call` got.

    Python calls this descriptor only if the future itself has no such attribute.
    """

    def __get__(self, future: Any, owner: type) -> str:
        call = None if future is None else vars(future).get(_CALL)
        if call is None:
            name = owner.__name__
            shown = f"type object {name!r}" if future is None else f"{name!r} object"
            raise AttributeError(f"{shown} has no attribute '_info'")
        try:
            batcher, arg, options = call
            info = f"{batcher!s}.add({arg!s}, {options!s})"
        except Exception:  # noqa: BLE001  # ndb asks for it to describe an error
            info = "{}.add({}, {})".format(*map(safe_str, call))
        vars(future)["_info"] = info
        return info


def info_of_call(_original: None, _is_active: Callable[[], bool]) -> Any:
    """Return the attribute ``_info`` for the class ``Future``, which defines none itself."""
    return _InfoOfCall()
