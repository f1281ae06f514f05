"""pydantic: the constructors of dataclasses, and their assignments."""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable
from typing import Any

from lazyentity._alive import are_bare, is_bare
from lazyentity._inplace import SLOTS
from lazyentity._mode import enter, leave, reads_eagerly
from lazyentity.patches.adapters.calls import CallSeam
from lazyentity.patches.adapters.calls_validated import CALLS, itself, valid
from lazyentity.patches.registry import Seam

_Original = Callable[..., Any]
_IsActive = Callable[[], bool]

_DATACLASSES = "pydantic._internal._dataclasses"


def _arguments_of(_: Any, wrapped: Any, __: Any, args: Any, kwargs: Any) -> Any:
    """Look into the arguments that a dataclass passes to the validator."""
    # The call of a function looked into its arguments; the third frame makes it.
    if sys._getframe(2).f_code in CALLS:
        return wrapped(*args, **kwargs)
    return wrapped(*map(valid, args), **{name: valid(value) for name, value in kwargs.items()})


def _arguments(original: Any, is_active: _IsActive) -> Any:
    """Replace the class in which a dataclass passes its arguments, on the pure backend."""

    def arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not are_bare(args, kwargs) and is_active():
            args = tuple(map(valid, args))
            kwargs = {name: valid(value) for name, value in kwargs.items()}
        return original(args, kwargs)

    # Constructors that are pickled by value refer to the class by its name in pydantic.
    arguments.__module__, arguments.__qualname__ = _DATACLASSES, original.__qualname__
    return arguments


class _Method:
    """The replacement of a method of a dataclass.

    It has the attributes of the original. A pickle or a copy of it is the original itself: classes
    of ``__main__`` are pickled with their methods.
    """

    def __init__(self, original: _Original, is_active: _IsActive) -> None:
        functools.update_wrapper(self, original)
        self._original = original
        self._is_active = is_active

    def __get__(self, instance: Any, kind: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __reduce__(self) -> Any:
        return itself(self._original)


class _Constructor(_Method):
    """The constructor of a dataclass. The class in which it passes its arguments decodes them."""

    @reads_eagerly
    def __call__(self, instance: Any, /, *args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        if not instance.__pydantic_complete__:
            instance.__pydantic_validator__.validate_python  # noqa: B018  # builds it
        if not self._is_active():
            self._original(instance, *args, **kwargs)
            return
        enter(None)
        try:
            self._original(instance, *args, **kwargs)
        finally:
            leave()


class _Assignment(_Method):
    """The method that validates assignments."""

    @reads_eagerly
    def __call__(self, instance: Any, name: str, value: Any, /) -> None:
        __tracebackhide__ = True
        if not instance.__pydantic_complete__:
            instance.__pydantic_validator__.validate_assignment  # noqa: B018  # builds it
        if not self._is_active():
            self._original(instance, name, value)
            return
        if not is_bare(value):
            value = valid(value)
        enter(None)
        try:
            self._original(instance, name, value)
        finally:
            leave()


def _complete_dataclass(original: _Original, is_active: _IsActive) -> _Original:
    """Replace the function that completes a dataclass; the dataclass has its methods then."""

    @functools.wraps(original)
    def complete_dataclass(cls: Any, *args: Any, **options: Any) -> Any:
        is_complete = original(cls, *args, **options)
        methods: dict[str, type[_Method]] = {"__init__": _Constructor}
        if cls.__pydantic_config__.get("validate_assignment"):
            methods["__setattr__"] = _Assignment
        for name, kind in methods.items():
            method = vars(cls).get(name)
            if inspect.isfunction(method):
                setattr(cls, name, kind(method, is_active))
        return is_complete

    return complete_dataclass


SEAMS: tuple[Seam, ...] = (
    (
        CallSeam("pydantic_core", "ArgsKwargs.__new__", _arguments_of)
        if SLOTS
        else Seam(_DATACLASSES, "ArgsKwargs", _arguments)
    ),
    Seam(_DATACLASSES, "complete_dataclass", _complete_dataclass),
)
