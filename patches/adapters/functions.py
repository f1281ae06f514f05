"""Replacing what a function of Python's does, while its object stays the same.

Modules that imported the function by name, bound methods, class attributes, default arguments and
``functools.partial`` hold the object, and have the replacement as well. Its name, signature,
defaults, file and first line stay the same: only the rest of ``__code__`` is another one.

:mod:`lazyentity._inplace` does the same for functions of C code.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

from lazyentity._alive import each_settled
from lazyentity._inplace import When, lengthen, shorten

_Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]

_NOT_PLAIN = (
    inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
    | inspect.CO_ITERABLE_COROUTINE
)
_HOOK = "_lazyentity_hook"
_ORIGINAL = "_lazyentity_original"
_SETTLED = "_lazyentity_settled"


def can_be_replaced(function: Any) -> bool:
    """Say whether a callable is a function of Python's that returns when it is called."""
    return type(function) is FunctionType and not function.__code__.co_flags & _NOT_PLAIN


def twin(function: FunctionType) -> FunctionType:
    """Return another function that does what ``function`` does now, with all of its attributes."""
    made = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    functools.update_wrapper(made, function)
    del made.__wrapped__  # type: ignore[attr-defined]  # update_wrapper set it
    made.__dict__.update(function.__dict__)
    return made


def _by_position(function: FunctionType) -> FunctionType:
    """Return a function that takes its keyword-only arguments by position too, which is faster.

    It is ``function`` itself, unless their number is fixed.
    """
    code = function.__code__
    if not code.co_kwonlyargcount or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
        return function
    made = twin(function)
    count = code.co_argcount + code.co_kwonlyargcount
    made.__code__ = code.replace(co_argcount=count, co_kwonlyargcount=0)
    return made


def _parameters(code: CodeType) -> Iterator[tuple[str, str, str]]:
    """Yield for each parameter its declaration, its argument and its keyword argument.

    Marks between parameters have a declaration alone.
    """
    names = list(code.co_varnames)
    for index in range(code.co_argcount):
        yield names[index], f"{names[index]}, ", ""
        if index + 1 == code.co_posonlyargcount:
            yield "/", "", ""
    last = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        yield f"*{names[last]}", f"*{names[last]}, ", ""
    elif code.co_kwonlyargcount:
        yield "*", "", ""
    for name in names[code.co_argcount : last]:
        yield name, "", f"'{name}': {name}, "
    if code.co_flags & inspect.CO_VARKEYWORDS:
        name = names[last + bool(code.co_flags & inspect.CO_VARARGS)]
        yield f"**{name}", "", f"**{name}, "


def _calling(code: CodeType, call: _Call, first: str, original: Any, skipped: int) -> CodeType:
    """Return code with the parameters of ``code`` that calls ``call`` with the arguments.

    Args:
        code: the code of a function.
        call: takes the arguments and the keyword arguments; defaults are among them.
        first: an expression to evaluate before, with ``{0}`` for the first parameter.
        original: is called in place of ``call`` if the arguments are settled; None, if never.
        skipped: how many of the first arguments do not count for that.

    Raises:
        AttributeError: if no such code can be made.
    """
    parameters = list(_parameters(code))
    declared = ", ".join(declaration for declaration, _, _ in parameters)
    args = "".join(argument for _, argument, _ in parameters)
    kwargs = "".join(argument for _, _, argument in parameters)
    direct = None if original is None else _by_position(original)
    keywords = "".join(
        f"{name}, " if direct is not original or name.startswith("*") else f"{name}={name}, "
        for name in _keywords(code)
    )
    counted = "".join([argument for _, argument, _ in parameters if argument][skipped:]) + "".join(
        f"*{name[2:]}.values(), " if name.startswith("*") else f"{name}, "
        for name in _keywords(code)
    )
    passed = (
        f"{_SETTLED} = '{_SETTLED}'; {_ORIGINAL} = '{_ORIGINAL}'\n"
        f"  if {_SETTLED}({counted}): return {_ORIGINAL}({args}{keywords})\n  "
    )
    # Unread names of the enclosing scope: a function's code must agree with its closure.
    source = (
        f"def enclosing({', '.join(code.co_freevars)}):\n"
        f" def function({declared}):\n"
        f"  {_HOOK} = '{_HOOK}'; {first.format(*code.co_varnames)}; "
        f"{'' if original is None else passed}"
        f"return {_HOOK}(({args}), {{{kwargs}}}); {'; '.join(code.co_freevars)}"
    )
    enclosing = compile(source, code.co_filename, "exec", dont_inherit=True)
    made = _within(_within(enclosing))
    if made.co_freevars != code.co_freevars:
        raise AttributeError(f"{code.co_name} cannot be replaced")
    constants = {_HOOK: call, _ORIGINAL: direct, _SETTLED: each_settled}
    return made.replace(
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        # The code reads the functions from its constants: its globals are the library's.
        co_consts=tuple(
            constants.get(value, value) if type(value) is str else value for value in made.co_consts
        ),
    )


def _keywords(code: CodeType) -> list[str]:
    """Return the names of the parameters that take keywords alone; ``**name`` is one of them."""
    names = list(code.co_varnames)
    last = code.co_argcount + code.co_kwonlyargcount
    found = names[code.co_argcount : last]
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(f"**{names[last + bool(code.co_flags & inspect.CO_VARARGS)]}")
    return found


def _within(code: CodeType) -> CodeType:
    (found,) = (each for each in code.co_consts if isinstance(each, CodeType))
    return found


class FunctionReplacement:
    """The replacement of a function of Python's; see :class:`lazyentity._inplace.Replacement`.

    Args:
        function: that :func:`can_be_replaced`.
        first: as for :func:`_calling`.
    """

    def __init__(self, function: FunctionType, first: str = "None") -> None:
        self.original = twin(function)
        self._function = function
        self._first = first
        self._code: CodeType | None = None

    def install(self, hook: Callable[..., Any], when: When, /) -> None:
        """Have the hook called from now on: with the original, None and the arguments.

        Args:
            hook: called for all arguments, or only for those that are not settled.
            when: says that.
        """
        original = self.original

        def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            return hook(original, None, args, kwargs)

        # The instance that a constructor fills is no data.
        skipped = int(original.__name__ == "__init__")
        passes = original if when == When() else None
        self._code = _calling(original.__code__, call, self._first, passes, skipped)
        self._function.__code__ = self._code
        if passes is not None:
            shorten(self._function, original, skipped)

    def remove(self) -> None:
        """Have the original called again, unless somebody else replaced the code meanwhile."""
        lengthen(self._function)
        if self._function.__code__ is self._code:
            self._function.__code__ = self.original.__code__


_made: dict[int, FunctionReplacement] = {}
"""By the id of the function, which its replacement keeps."""


def function_replacement(function: Any) -> FunctionReplacement | None:
    """Return the replacement of a function, the same one each time; None if there can be none."""
    if not can_be_replaced(function):
        return None
    return _made.get(id(function)) or _made.setdefault(id(function), FunctionReplacement(function))
