"""Seams that outlast the patch."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from lazyentity.patches.imports import wrapt
from lazyentity.patches.registry import Seam


class LastingSeam(Seam):
    """The seam of a method or descriptor without which objects that exist cannot be read.

    Reverting the patch leaves it in place: the replacement does what the original does for all
    other objects. The class need not have had the attribute.
    """

    def resolve(self) -> Any:
        """As :meth:`Seam.resolve`; None, if the class itself defines no such attribute."""
        with contextlib.suppress(AttributeError):
            return super().resolve()
        return None

    def install(self, is_active: Callable[[], bool]) -> None:
        """Put the replacement in place, once."""
        if self.replacement is not None:
            return
        holder, _, name = self.path.rpartition(".")
        parent = wrapt().resolve_path(self.module, holder)[2]
        self.original = vars(parent).get(name)
        self.replacement = self._replace(self.original, is_active)
        setattr(parent, name, self.replacement)

    def remove(self) -> None:
        """Leave the replacement in place."""
