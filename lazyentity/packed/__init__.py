"""Documents that are stored as one opaque value, in place of an embedded entity.

>>> from lazyentity.packed import pack, unpack
>>> unpack(pack({"lines": [{"price": 2.5}]}))
{'lines': [{'price': 2.5}]}

``PackedProperty`` is a property for models of google-cloud-ndb that stores such a value;
:mod:`lazyentity.packed.appengine` has one for App Engine's ndb. Both are imported when you use
them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

try:
    import orjson as _orjson  # noqa: F401  # both are needed below
    import zstandard as _zstandard  # noqa: F401
except ImportError as _error:
    raise ImportError(
        f"lazyentity.packed needs {_error.name}: pip install {_error.name}", name=_error.name
    ) from _error

from lazyentity.packed.format import COMPRESS_FROM, MAX_SIZE, UnpackError, is_packed, pack, unpack

if TYPE_CHECKING:
    from lazyentity.packed.ndb import PackedProperty

__all__ = [
    "COMPRESS_FROM",
    "MAX_SIZE",
    "PackedProperty",
    "UnpackError",
    "is_packed",
    "pack",
    "unpack",
]


if not TYPE_CHECKING:
    # To type checkers, a module with this function has every name.

    def __getattr__(name: str) -> Any:
        if name != "PackedProperty":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module("lazyentity.packed.ndb").PackedProperty
