"""Which implementation of :class:`LazyMapping` serves: chosen once, when lazyentity is imported.

An implementation is a ``dict`` subclass with the constructor ``_from_raw``, the accessors ``_decode``,
``_decode_all``, ``_undecoded`` and ``_wire_*``, and the dict operations, all as documented in
:mod:`lazyentity.codec.pure`. It never touches ``key``, ``exclude_from_indexes`` or ``_meanings``: these
are :class:`~lazyentity.entity.LazyEntity`'s.
"""

from __future__ import annotations

import importlib
import os
import warnings
from typing import TYPE_CHECKING, Any

__all__ = ["LazyMapping", "backend"]

_REQUEST = "LAZYENTITY_BACKEND"
_NATIVE_MODULE = "lazyentity._native"


def _native() -> Any:
    return importlib.import_module(_NATIVE_MODULE).LazyMapping


def _pure() -> Any:
    return importlib.import_module("lazyentity.codec.pure").LazyMapping


def _choose(requested: str) -> tuple[str, Any]:
    """Return name and mapping of the backend that was asked for; the best there is, if none was.

    Raises:
        ImportError: if what was asked for is not there or no backend at all.
    """
    if requested not in ("", "native", "pure"):
        raise ImportError(
            f"{_REQUEST}={requested!r} is not a backend; accepted are 'native' and 'pure'"
        )
    if requested == "pure":
        return "pure", _pure()
    try:
        return "native", _native()
    except ImportError as error:
        if requested == "native":
            raise ImportError(
                f"{_REQUEST}=native cannot be met ({error}); a build without a working C compiler "
                "leaves the native backend out: install from source where there is one, or unset "
                "the variable"
            ) from error
        if not (isinstance(error, ModuleNotFoundError) and error.name == _NATIVE_MODULE):
            warnings.warn(
                f"lazyentity: the native backend was built but cannot be loaded ({error}); "
                "the pure one serves",
                RuntimeWarning,
                stacklevel=2,
            )
        return "pure", _pure()


if TYPE_CHECKING:
    from lazyentity.codec.pure import LazyMapping

    backend: str
else:
    backend, LazyMapping = _choose(os.environ.get(_REQUEST, ""))
