"""Acting when the application imports a module, without importing it before."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec

from lazyentity.patches.wrapping import wrapt


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
        if not isinstance(finder, wrapt().ImportHookFinder):
            spec = finder.find_spec(name, folders, None)
            if spec is not None:
                return spec
    return None
