"""wrapt, which is imported when something is patched and not before.

An application that switches lazyentity off, or that has a different module
``wrapt``, has to start as it does without lazyentity.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from lazyentity.codec.describing import safe_repr

_parts: list[Any] = []


def wrapt() -> Any:
    """Return the part of wrapt that lazyentity uses, as a module.

    Raises:
        ImportError: if there is no wrapt. :func:`missing` says so before.
    """
    if not _parts:
        # Kept, because the application may import its own module of that name later.
        _parts.append(importlib.import_module("lazyentity.patches.wrapt_parts"))
    return _parts[0]


def missing() -> str | None:
    """Return why wrapt cannot be imported; None if it can, and then it was imported."""
    try:
        if not _parts:
            other = _module_of_application()
            if other is not None:
                return f"{other} is not the library wrapt; rename it"
        wrapt()
    except Exception as error:  # noqa: BLE001  # a module of the application's may raise any
        return f"wrapt cannot be imported ({safe_repr(error)}); install wrapt>=2"
    return None


def _module_of_application() -> str | None:
    """Return the file of a module ``wrapt`` that is not the library; None if there is none.

    Such a module is not imported: it may do anything.
    """
    loaded = sys.modules.get("wrapt")
    if isinstance(loaded, ModuleType):
        return None if hasattr(loaded, "resolve_path") else str(getattr(loaded, "__file__", loaded))
    spec = importlib.util.find_spec("wrapt")
    if spec is None:
        return None
    inside = spec.submodule_search_locations
    # Bundlers have their own finders, which say nothing of folders.
    if spec.has_location and (
        inside is None or PathFinder.find_spec("wrapt.importer", inside) is None
    ):
        return spec.origin
    return None
