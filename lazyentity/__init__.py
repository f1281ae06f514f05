"""Lazy entities for google-cloud-datastore: a property is decoded when it is read.

>>> import lazyentity
>>> lazyentity.patch()  # or: import lazyentity.auto

From then on the client's reads return :class:`LazyEntity`, which every caller can treat as the
``Entity`` that it is.
"""

from __future__ import annotations

from lazyentity._backend import backend
from lazyentity._eager import eager
from lazyentity._version import __version__
from lazyentity.detached import detach
from lazyentity.entity import LazyEntity
from lazyentity.operations import decoded, materialize, prefetch, raw
from lazyentity.patches import patch, patched, unpatch
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
