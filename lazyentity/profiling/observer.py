"""The switch of the profile: code that receives entities asks for :data:`data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lazyentity.profiling.counters import ProfileData

data: ProfileData | None = None
"""The counts of the running profiles; None, while no profile runs."""

STORAGE: Final = "code that reads storage"
"""The operation of libraries that take properties past the methods of an entity."""

_listeners: list[Callable[[ProfileData | None], None]] = []


def switch(to: ProfileData | None) -> None:
    """Count in the given data from now on, or, if there is none, do not count.

    The caller must hold a lock: two threads must not call this at a time.
    """
    global data
    data = to
    for listener in _listeners:
        listener(to)


def listen(listener: Callable[[ProfileData | None], None]) -> None:
    """Call a function with all that :func:`switch` is called with, and now if a profile runs."""
    _listeners.append(listener)
    if data is not None:
        listener(data)
