"""The switch of the profile (:mod:`lazyentity.profiling`).

The code that receives or decodes entities asks for :data:`data`, or an entity for its counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from lazyentity.codec import undecoded

if TYPE_CHECKING:
    from lazyentity.profiling.counters import ProfileData

data: ProfileData | None = None
"""Everything that was counted; None, while no profile runs."""

ENTITY_COUNTS: Final = object()
"""The key of the counts among the originals of an entity of the pure backend."""

STORAGE: Final = "code that reads storage"
VALIDATION: Final = "validation by pydantic"
"""Operations of libraries that take properties past the methods of an entity, as reports call them.

Validation may take no more than the fields of a model.
"""

WRITTEN: Final = "written"
CHANGED: Final = "changed"
COPIED: Final = "copied or detached"
COLUMNS: Final = "read into columns"
COMPARED: Final = "compared"
FLAGS: Final = "asked for index flags or meanings"
NAMES: Final = "asked for names"
USES: Final = (WRITTEN, CHANGED, COPIED, COLUMNS, COMPARED, FLAGS, NAMES)
"""Uses of entities beside reading a property; one may imply those after it."""

_listeners: list[Callable[[ProfileData | None], None]] = []


def switch(to: ProfileData | None) -> None:
    """Count in the given data from now on, or, if there is none, do not count.

    The caller must hold a lock: two threads must not call this at a time.
    """
    global data
    data = to
    undecoded.note_refusal = None if to is None else to.count_sentinel
    for listener in _listeners:
        listener(to)


def listen(listener: Callable[[ProfileData | None], None]) -> None:
    """Call a function with all that :func:`switch` is called with, and now if a profile runs."""
    _listeners.append(listener)
    if data is not None:
        listener(data)
