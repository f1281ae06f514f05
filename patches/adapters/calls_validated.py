"""pydantic: the call of a function of ``validate_call``.

The function itself is a whole part of an application, and reads lazily.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import operator
import types
from collections.abc import Callable
from typing import Any

from lazyentity._alive import are_bare
from lazyentity._classes import forgetting
from lazyentity.decoding import decoded_in_place

_Original = Callable[..., Any]
_IsActive = Callable[[], bool]

valid = functools.partial(decoded_in_place, validating=True)

CALLS: set[types.CodeType] = set()
"""The code of the originals of :func:`call`."""
_unread_of: dict[int, Any] = {}
"""By the id of a function: a weak reference, and the result of :func:`_unread`."""


def _unread(function: Any) -> int:
    """Return how many of the first arguments of a function, as ``self``, pydantic hands on unread.

    These have no annotation.
    """
    if type(function) is not types.FunctionType or not {"__signature__", "__wrapped__"}.isdisjoint(
        vars(function)
    ):
        return 0
    known = _unread_of.get(id(function))
    if known is None:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        annotated = inspect.signature(function).parameters
        empty = inspect.Parameter.empty
        count = sum(
            1 for _ in itertools.takewhile(lambda n: annotated[n].annotation is empty, names)
        )
        known = _unread_of[id(function)] = forgetting(function, _unread_of), count
    found: int = known[1]
    return found


def call(original: _Original, is_active: _IsActive) -> _Original:
    """Replace the call of a function of ``validate_call``."""
    CALLS.add(original.__code__)

    @functools.wraps(original)
    def __call__(self: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: N807  # its name
        __tracebackhide__ = True
        if is_active():
            if not are_bare(args, kwargs):
                # Older versions keep no function.
                unread = _unread(getattr(self, "function", None))
                if not (unread and are_bare(args[unread:], kwargs)):
                    args = (*args[:unread], *map(valid, args[unread:]))
                    kwargs = {name: valid(value) for name, value in kwargs.items()}
            if not getattr(self, "__pydantic_complete__", True):
                self._create_validators()
            validate = self.__return_pydantic_validator__
            if validate and type(validate) is not _ReturnValidator:
                # An asynchronous function has an asynchronous validator in every version.
                is_async = inspect.iscoroutinefunction(validate)
                returned = _ReturnValidator(validate, is_active, is_async)
                self.__return_pydantic_validator__ = returned
        return original(self, *args, **kwargs)

    return __call__


class _ReturnValidator:
    """Decodes and validates the result of a function.

    A pickle or a copy of it validates only.
    """

    def __init__(
        self, validate: Callable[[Any], Any], is_active: _IsActive, is_async: bool
    ) -> None:
        self._validate = validate
        self._is_active = is_active
        self._is_async = is_async

    def __call__(self, returned: Any) -> Any:
        if self._is_active():
            returned = _awaited(returned) if self._is_async else valid(returned)
        return self._validate(returned)

    def __reduce__(self) -> Any:
        return itself(self._validate)


def itself(value: Any) -> Any:
    """Return the result of a ``__reduce__`` that pickles ``value`` itself."""
    return operator.itemgetter(0), ((value,),)


async def _awaited(returned: Any) -> Any:
    return valid(await returned)
