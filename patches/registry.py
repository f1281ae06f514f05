"""Replacing attributes of other people's modules, and putting them back.

A :class:`Seam` is one attribute and its replacement; a :class:`Patch` is all the seams of one
client, replaced together or not at all. Originals are saved once and restored by identity: what
somebody else put over ours in the meantime stays where it is, and ours, underneath, does what the
original did.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import wrapt


class Seam:
    """One attribute of a client that is replaced while the client is patched.

    Args:
        module: name of the module that holds the attribute.
        path: dotted path of the attribute within the module.
        replace: called with the original and with a function that says whether the patch is active;
            returns the replacement. An inactive replacement must do what the original does.
    """

    def __init__(
        self,
        module: str,
        path: str,
        replace: Callable[[Any, Callable[[], bool]], Any],
    ) -> None:
        self.module = module
        self.path = path
        self.original: Any = None
        self._replace = replace
        self._replacement: Any = None

    def stands(self, current: Any) -> bool:
        """Say whether ``current``, found at the seam, is the replacement itself."""
        return current is self._replacement

    def resolve(self) -> Any:
        """Return what stands at the seam now.

        Raises:
            AttributeError, ImportError: if there is no such attribute, or only an inherited one.
        """
        parent, attribute, current = wrapt.resolve_path(self.module, self.path)
        if attribute not in vars(parent):
            raise AttributeError(f"{parent!r} has no attribute {attribute!r} of its own")
        return current

    def install(self, is_active: Callable[[], bool]) -> None:
        """Put the replacement in place, unless it still stands there under somebody's wrapper."""
        parent, attribute, current = wrapt.resolve_path(self.module, self.path)
        if self._replacement is not None and _wraps(current, self._replacement):
            return
        replacement = self._replace(current, is_active)
        wrapt.apply_patch(parent, attribute, replacement)
        self.original = current
        self._replacement = replacement

    def remove(self) -> None:
        """Put the original back, if it is the replacement that stands there."""
        if self._replacement is None:
            return
        parent, attribute, current = wrapt.resolve_path(self.module, self.path)
        if current is self._replacement:
            wrapt.apply_patch(parent, attribute, self.original)
            self._replacement = None


def _wraps(outer: Any, inner: Any) -> bool:
    """Say whether ``outer`` is ``inner`` or a wrapper of it that says so in the usual way."""
    seen: set[int] = set()
    while outer is not None and id(outer) not in seen:
        if outer is inner:
            return True
        seen.add(id(outer))
        if isinstance(outer, property):
            outer = outer.fget
            inner = inner.fget if isinstance(inner, property) else inner
        else:
            outer = getattr(outer, "__wrapped__", None)
    return False


class Patch:
    """The seams of one client."""

    def __init__(self, seams: Sequence[Seam]) -> None:
        self.seams = tuple(seams)
        self.active = False

    def _is_active(self) -> bool:
        return self.active

    def apply(self) -> None:
        """Install every seam, or none.

        Raises:
            AttributeError, ImportError: if the client lacks what a seam replaces.
        """
        if self.active:
            return
        # Nothing is touched, not even for a moment, if something is missing.
        for seam in self.seams:
            seam.resolve()
        installed: list[Seam] = []
        try:
            for seam in self.seams:
                seam.install(self._is_active)
                installed.append(seam)
        except BaseException:
            for seam in reversed(installed):
                seam.remove()
            raise
        self.active = True

    def revert(self) -> None:
        """Put back every original; what was wrapped meanwhile does what the original does."""
        self.active = False
        for seam in self.seams:
            seam.remove()


def is_of(module: Any, function: Any) -> bool:
    """Say whether a function was defined in a module.

    By type and code, for a wrapper may equal what it wraps and have all of its attributes.
    """
    return type(function) is FunctionType and function.__code__.co_filename == module.__file__


def modules_holding(original: Any, *, home: str) -> list[str]:
    """Return the names of the loaded modules that hold a reference to ``original``.

    Such a module imported it by name before it was replaced, and will go on calling it. ``home``,
    where it was defined, is left out.
    """
    ours = __name__.partition(".")[0]
    holders = []
    for name, module in list(sys.modules.items()):
        if name == home or name.partition(".")[0] == ours:
            continue
        namespace = getattr(module, "__dict__", None)
        if isinstance(namespace, dict) and any(
            value is original for value in list(namespace.values())
        ):
            holders.append(name)
    return sorted(holders)
