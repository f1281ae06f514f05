"""Imports: of wrapt when something is patched, and of clients when the application does it.

An application that switches lazyentity off, or that has a different module ``wrapt``, has to start
as it does without lazyentity.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from collections.abc import Callable
from typing import Any

from lazyentity.codec.describing import safe_repr


def wrapt() -> Any:
    """Return the library wrapt, imported now.

    Raises:
        ImportError: if there is none. :func:`problem_with_wrapt` says so before.
    """
    return importlib.import_module("wrapt")


def problem_with_wrapt() -> str | None:
    """Return why wrapt cannot be used; None if it can, and then it was imported."""
    try:
        spec = None if "wrapt" in sys.modules else importlib.util.find_spec("wrapt")
        # The library is a package. A module of the application's is not run: it may do anything.
        if spec is not None and spec.has_location and not spec.submodule_search_locations:
            return f"{spec.origin} is not the library wrapt; rename it"
        found = wrapt()
    except Exception as error:  # noqa: BLE001  # a module of the application's may raise any
        return f"wrapt cannot be imported ({safe_repr(error)}); install wrapt>=2"
    if not hasattr(found, "resolve_path"):
        return f"{getattr(found, '__file__', found)} is not the library wrapt; rename it"
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
            return _is_found(self._module)
        except ValueError:
            # The module was imported without a spec.
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


def _is_found(module: str) -> bool:
    """Whether a module could be imported, as far as the first package around it that has code.

    Such a package is not imported, because that can take seconds. The import system imports
    namespace packages, from which other threads may be importing.
    """
    for name in itertools.accumulate(module.split("."), "{}.{}".format):
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is not None:
            return spec is not None
    return True
