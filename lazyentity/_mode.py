"""Whether an entity that is made of bytes is lazy or stock, and what lazy ones rely on."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Final

from lazyentity._environment import DISABLE, is_set
from lazyentity._environment import EAGER as EAGER_SWITCH
from lazyentity.codec.mode import EAGER, NOTES, is_eager

__all__ = ["NOTES", "SWITCHED_OFF", "asks_for_stock", "gives_stock", "install_adapters"]

SWITCHED_OFF: Final = is_set(DISABLE) or is_set(EAGER_SWITCH)
"""Whether the environment asks for stock entities; read when this module is imported."""

asks_for_stock: Final[Callable[[], bool]] = (lambda: True) if SWITCHED_OFF else EAGER.get
"""Says whether the environment or ``eager()`` asks for stock entities."""


def gives_stock() -> bool:
    """Say whether an entity that is made of bytes now is a stock one."""
    return SWITCHED_OFF or is_eager()


def install_adapters() -> None:
    """Install the adapters, because a class of lazy objects has come into being.

    With :data:`SWITCHED_OFF` only patched and wrapped clients make lazy objects, and ``patch()``
    and ``wrap()`` install the adapters themselves.
    """
    if not SWITCHED_OFF:
        importlib.import_module("lazyentity.patches.adapters").install()
