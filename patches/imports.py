"""Imports: of wrapt when something is patched, and of clients when the application does it.

An application that switches lazyentity off, or that has a different module ``wrapt``, has to start
as it does without lazyentity.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from lazyentity.codec.describing import safe_repr


def wrapt() -> Any:
    """Return the library wrapt, imported now.

    Raises:
        ImportError: if there is none. :func:`problem_with_wrapt` says so before.
    """
    return importlib.import_module("wrapt")


def problem_with_wrapt() -> str | None:
    """Return why wrapt cannot be imported; None if it can, and then it was imported."""
    try:
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


class WhenImported:
    """An action that waits for a module to be imported.

    Any number may wait for one module: they act in the order in which they began to wait.

    Args:
        module: dotted name of the module or package.
        action: called after the import, if :attr:`awaited` is still true. The import raises the
            errors of the action.

    Attributes:
        awaited: whether the import is being waited for.
    """

    def __init__(self, module: str, action: Callable[[], None]) -> None:
        self.awaited = False
        self._module = module
        self._action = action
        self._is_registered = False

    def is_installed(self) -> bool:
        """Whether the module could be imported, or was."""
        if self.is_imported():
            return True
        try:
            return _found(self._module) is not None
        except (ModuleNotFoundError, ValueError):
            # A package around it is missing; or the module was imported without a spec.
            return False

    def is_imported(self) -> bool:
        """Whether the module was imported, or is being imported."""
        return sys.modules.get(self._module) is not None

    def wait(self) -> None:
        """Act when the module is imported; now, if it was.

        Waits while another thread imports the module. That thread may need a lock that the caller
        holds, so the caller must hold none.
        """
        self.awaited = True
        if self.is_imported() and not (self._is_registered and self._is_being_imported()):
            # Not through wrapt, which holds its own lock during the call.
            self._imported(None)
        elif not self._is_registered:
            self._is_registered = True
            wrapt().register_post_import_hook(self._imported, self._module)

    def _is_being_imported(self) -> bool:
        spec = getattr(sys.modules[self._module], "__spec__", None)
        return bool(getattr(spec, "_initializing", False))

    def cancel(self) -> None:
        """Do not act after all."""
        self.awaited = False

    def _imported(self, _: object) -> None:
        # Another thread may still be importing the module.
        importlib.import_module(self._module)
        if self.awaited:
            self.awaited = False
            self._action()


def _found(module: str) -> ModuleSpec | None:
    """Return the spec of a module; None, or an error of the import system, if there is none.

    Packages around the module that have code are not imported, because that can take seconds. The
    import system imports namespace packages, from which other threads may be importing.
    """
    name, *inner = module.split(".")
    spec = importlib.util.find_spec(name)
    for part in inner:
        folders = spec.submodule_search_locations if spec else None
        if spec is None or folders is None:
            return None
        name = f"{name}.{part}"
        has_code = spec.origin is not None
        spec = _found_in(name, folders) if has_code else importlib.util.find_spec(name)
    return spec


def _found_in(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    """Ask the finders of the import system for a module in the folders of its package."""
    for finder in sys.meta_path:
        # wrapt's finder asks the import system, which imports the packages around the module.
        if not isinstance(finder, wrapt().importer.ImportHookFinder):
            spec = finder.find_spec(name, folders, None)
            if spec is not None:
                return spec
    return None
