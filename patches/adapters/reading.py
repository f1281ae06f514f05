"""Functions of a library that stay as they are, and read eagerly while they call adapted ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import CodeType, FunctionType

from lazyentity._mode import mark
from lazyentity.patches.registry import Seam

_IsActive = Callable[[], bool]


class Reading(Seam):
    """A function of pydantic that stays: the code that it has validators call reads eagerly.

    Args:
        module, path: as for :class:`Seam`.
        inner: the name of a function that this one makes, and that is meant; None for itself.
    """

    def __init__(self, module: str, path: str, inner: str | None = None) -> None:
        super().__init__(module, path, lambda original, _: original)
        self._inner = inner

    def install(self, is_active: _IsActive) -> None:
        current = self.resolve()
        # Somebody may have wrapped it before.
        function = inspect.unwrap(getattr(current, "__func__", current))
        if type(function) is not FunctionType:
            return
        code = function.__code__
        if self._inner is None:
            mark(code)
        for each in code.co_consts:
            if type(each) is CodeType and each.co_name == self._inner:
                mark(each)
