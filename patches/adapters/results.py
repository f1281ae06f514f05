"""Functions of the application that a library calls: the entities that they return are decoded.

An entity that such a function returns is not among the arguments of the adapted call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from lazyentity._alive import holds_no_values, is_bare
from lazyentity.search import decoded_in_place

Hooks = Mapping[str, int | None]
"""Parameters that take a function for values unknown to the library, with their positions."""


class DecodingFunction:
    """A function of the application; its result is decoded.

    It has the attributes of the function, whose name a library may put into errors. A pickle or
    copy of it is the function itself.
    """

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        returned = self._function(*args, **kwargs)
        return returned if is_bare(returned) else decoded_in_place(returned)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)

    def __repr__(self) -> str:
        return repr(self._function)

    def __reduce__(self) -> Any:
        return operator.itemgetter(0), ((self._function,),)


holds_no_values(DecodingFunction)


def decoding_hook(hook: Any) -> Any:
    """Return a hook whose results are decoded; the library refuses one that is not callable."""
    if not callable(hook) or isinstance(hook, DecodingFunction):
        return hook
    return DecodingFunction(hook)


def with_decoding_hooks(
    hooks: Hooks, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call, those for ``hooks`` with decoded results."""
    for name, position in hooks.items():
        if kwargs.get(name) is not None:
            # A copy: C code may have passed a dict that others have as well.
            kwargs = {**kwargs, name: decoding_hook(kwargs[name])}
        elif position is not None and len(args) > position:
            hook = decoding_hook(args[position])
            args = (*args[:position], hook, *args[position + 1 :])
    return args, kwargs
