"""Doing something to a package when the application imports it, and not importing it before."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable

import wrapt


class WhenImported:
    """Something that waits for a package to be imported.

    Args:
        package: dotted name of the package.
        action: called once it was imported, if it is :attr:`awaited` at that time.

    Attributes:
        awaited: whether the import is being waited for.
    """

    def __init__(self, package: str, action: Callable[[], None]) -> None:
        self.awaited = False
        self._package = package
        self._action = action
        self._is_registered = False

    def is_installed(self) -> bool:
        """Say whether the package could be imported, or was."""
        if self.is_imported():
            return True
        try:
            return importlib.util.find_spec(self._package) is not None
        except ModuleNotFoundError:
            # Of a package around it.
            return False

    def is_imported(self) -> bool:
        """Say whether somebody has imported the package."""
        return self._package in sys.modules

    def wait(self) -> None:
        """Act when the package is imported."""
        self.awaited = True
        if not self._is_registered:
            self._is_registered = True
            wrapt.register_post_import_hook(self._imported, self._package)

    def cancel(self) -> None:
        """Do not act after all."""
        self.awaited = False

    def _imported(self, _: object) -> None:
        if self.awaited:
            self.awaited = False
            self._action()
