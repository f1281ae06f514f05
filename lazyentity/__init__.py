"""Lazy entities for google-cloud-datastore: a property is decoded when it is read.

>>> import lazyentity
>>> lazyentity.patch()  # or: import lazyentity.auto

From then on the client's reads return :class:`LazyEntity`, which every caller can treat as the
``Entity`` that it is.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lazyentity._backend import backend
from lazyentity._eager import eager
from lazyentity._version import __version__
from lazyentity.entity import LazyEntity
from lazyentity.operations import decoded, materialize, prefetch, raw
from lazyentity.patches import patch, patched, unpatch

if TYPE_CHECKING:
    from lazyentity.detached import detach
    from lazyentity.patches.wrapping import wrap

__all__ = [
    "LazyEntity",
    "__version__",
    "backend",
    "decoded",
    "detach",
    "eager",
    "materialize",
    "patch",
    "patched",
    "prefetch",
    "raw",
    "unpatch",
    "wrap",
]

# Imported when they are asked for: who patches has no need of them, and starts sooner.
_ON_DEMAND = {"detach": "lazyentity.detached", "wrap": "lazyentity.patches.wrapping"}


def __getattr__(name: str) -> Any:
    if name not in _ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_ON_DEMAND[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
