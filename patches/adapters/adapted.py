"""The callable that takes the place of a library's function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from wrapt import FunctionWrapper

from lazyentity._environment import native_without_client
from lazyentity.search import decode_in_any
from lazyentity.storage.lazydict import live_mappings

if TYPE_CHECKING:
    _FunctionWrapper = FunctionWrapper[Any, Any]
else:
    # wrapt 2.0 declares no parameters at run time.
    _FunctionWrapper = FunctionWrapper


class _Adapted(_FunctionWrapper):
    """A proxy of a callable of a library. It is pickled by name, as functions and classes are."""

    def __reduce_ex__(self, protocol: Any) -> str:
        name: str = self.__wrapped__.__qualname__
        return name


def _adapted(
    original: Any,
    is_active: Callable[[], bool],
    prepare: Callable[..., object] | None = None,
) -> Any:
    def call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        if live_mappings() and is_active():
            given = args if instance is None else (instance, *args)
            for value in (*given, *kwargs.values()):
                decode_in_any(value)
            if prepare is not None:
                prepare(*given)
        return wrapped(*args, **kwargs)

    return _Adapted(original, call)


_native = native_without_client()
adapted: Callable[..., Any] = _adapted if _native is None else _native.adapted
"""Return a callable that decodes the entities in its arguments, and calls the original.

It has the original's name, signature, documentation, hash and pickle, and ``__wrapped__``. It is
bound to instances if the original is. While no lazy mapping is alive, the native one compares an
integer and calls.

Args:
    original: a function or method of a library.
    is_active: says whether to decode.
    prepare: called with the positional arguments after they were decoded; None for nothing.
"""
