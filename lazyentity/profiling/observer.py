"""The switch of the profile (:mod:`lazyentity.profiling`): its code is in place while one runs.

While no profile runs, no function is replaced, and compiled code tests one flag where an entity
arrives or is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

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

_listeners: list[Callable[[ProfileData | None], None]] = []


def switch(to: ProfileData | None) -> None:
    """Count in the given data from now on, or, if there is none, do not count.

    The caller must hold a lock: two threads must not call this at a time.
    """
    global data
    data = to
    undecoded.note_refusal = None if to is None else to.count_sentinel
    # The first listeners count entities. They begin last and end first: whatever is done with a
    # counted entity is noticed. Listeners that are added meanwhile are called by listen().
    for listener in list(_listeners) if to is None else _listeners[::-1]:
        listener(to)


def listen(listener: Callable[[ProfileData | None], None]) -> None:
    """Call a function with all that :func:`switch` is called with, and now if a profile runs."""
    _listeners.append(listener)
    if data is not None:
        listener(data)


prepare: Callable[[], None] | None = None
"""Called before entities are counted; :mod:`lazyentity.profiling.collection` sets it."""


def entities_exist() -> None:
    """Let each profile prepare, a running one now: the class of lazy entities exists."""
    listen(_prepare)


def _prepare(to: ProfileData | None) -> None:
    if to is not None and prepare is not None:
        prepare()


def while_running(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    """Replace an attribute of a class or module while a profile runs.

    Args:
        owner: the class or module.
        name: of the attribute.
        make: takes the original, as it is in ``vars(owner)``, None if it is not there; returns the
            replacement.
    """
    replaced: list[tuple[Any, Any]] = []

    def follow(to: ProfileData | None) -> None:
        if to is None:
            original, replacement = replaced.pop()
            # Another patch may stand there by now.
            if vars(owner).get(name) is replacement:
                if original is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, original)
        elif not replaced:
            original = vars(owner).get(name)
            replaced.append((original, make(original)))
            setattr(owner, name, replaced[0][1])

    listen(follow)
