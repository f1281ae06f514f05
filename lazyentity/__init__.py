"""Lazy entities for google-cloud-datastore: a property is decoded when it is read.

>>> import lazyentity
>>> lazyentity.patch()  # or: import lazyentity.auto

After that, the client's reads return :class:`LazyEntity`, a subclass of ``Entity``.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lazyentity._environment import DISABLE, PROFILE, is_set
from lazyentity._version import __version__

if TYPE_CHECKING:
    from lazyentity._backend import backend
    from lazyentity._mode import eager
    from lazyentity.columnar import column_batches, columns
    from lazyentity.detached import detach
    from lazyentity.entity import LazyEntity
    from lazyentity.operations import decoded, prefetch, raw
    from lazyentity.patches import patch, patched, unpatch
    from lazyentity.patches.datastore.wrapping import wrap
    from lazyentity.plain import materialize, to_dict
    from lazyentity.profiling.collection import profile
    from lazyentity.tables import to_arrow, to_pandas

__all__ = [
    "LazyEntity",
    "__version__",
    "backend",
    "column_batches",
    "columns",
    "decoded",
    "detach",
    "eager",
    "materialize",
    "patch",
    "patched",
    "prefetch",
    "profile",
    "raw",
    "to_arrow",
    "to_dict",
    "to_pandas",
    "unpatch",
    "wrap",
]

# Imported on first access: these modules need no client.
_WITHOUT_CLIENT = {
    "eager": "lazyentity._mode",
    "patch": "lazyentity.patches",
    "patched": "lazyentity.patches",
    "unpatch": "lazyentity.patches",
}

# Their modules import google-cloud-datastore, which the application may never need.
_ON_DEMAND = {
    "LazyEntity": "lazyentity.entity",
    "backend": "lazyentity._backend",
    "column_batches": "lazyentity.columnar",
    "columns": "lazyentity.columnar",
    "decoded": "lazyentity.operations",
    "detach": "lazyentity.detached",
    "materialize": "lazyentity.plain",
    "prefetch": "lazyentity.operations",
    "profile": "lazyentity.profiling.collection",
    "raw": "lazyentity.operations",
    "to_arrow": "lazyentity.tables",
    "to_dict": "lazyentity.plain",
    "to_pandas": "lazyentity.tables",
    "wrap": "lazyentity.patches.datastore.wrapping",
}


if not TYPE_CHECKING:
    # To type checkers, a module with this function has every name.

    def __getattr__(name: str) -> Any:
        module = _WITHOUT_CLIENT.get(name)
        if module is None:
            if name not in _ON_DEMAND:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            module = _ON_DEMAND[name]
            # First: importing the client may patch it, which needs these modules complete.
            importlib.import_module("google.cloud.datastore")
        value = getattr(_own_module(module), name)
        globals()[name] = value
        return value


def _own_module(name: str) -> Any:
    """Return a module of this package.

    It is looked for in the package first: after ``del sys.modules[...]``, as reloaders do it, that
    is another copy than the one in ``sys.modules``, and each has its own state.
    """
    found: Any = None
    namespace = globals()
    for part in name.split(".")[1:]:
        found = namespace.get(part)
        if not isinstance(found, ModuleType):
            return importlib.import_module(name)
        namespace = vars(found)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# With the switch set nothing is imported: see lazyentity.auto.
if is_set(PROFILE) and not is_set(DISABLE):
    importlib.import_module("lazyentity.profiling.collection").begin()
