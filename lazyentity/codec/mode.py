"""The mode of the current thread or task: lazy entities, or stock ones inside :func:`eager`.

Functions that take part in the mode without a context are marked by :func:`reads_eagerly`: what
they call gets stock entities. They are called far more often than RPCs are sent. So a call only
leaves a note that some thread is inside one, and an RPC that finds a note looks for their frames.
"""

from __future__ import annotations

import contextlib
import contextvars
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TypeVar

_Function = TypeVar("_Function", bound=Callable[..., object])

EAGER: contextvars.ContextVar[bool] = contextvars.ContextVar("lazyentity.eager", default=False)


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Give stock entities for the RPCs that are sent inside this context.

    The decision belongs to the RPC. Entities of a page fetched inside stay stock when they are read
    outside; the next page of that query, fetched outside, is lazy again. Each thread and asyncio
    task has its own setting. May be nested.
    """
    token = EAGER.set(True)
    try:
        yield
    finally:
        EAGER.reset(token)


_notes: list[None] = []
_marked: set[CodeType] = set()

# Methods of a list are atomic, and take a third of the time that setting a context variable takes.
enter: Callable[[None], None] = _notes.append
"""Note that a marked function begins; called in the function, with None."""
leave: Callable[[], None] = _notes.pop
"""Take a note back, however the function ends."""


def reads_eagerly(function: _Function) -> _Function:
    """Mark a function of Python's: the RPCs sent while it runs give stock entities.

    Args:
        function: one that calls :func:`enter` and, in the end, :func:`leave`.

    Returns:
        The function itself.
    """
    _marked.add(function.__code__)
    return function


def is_eager() -> bool:
    """Say whether this is called inside :func:`eager`, or by a function that reads eagerly."""
    return EAGER.get() or (bool(_notes) and _is_inside_marked())


def _is_inside_marked() -> bool:
    # A note may be another thread's.
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _marked:
            return True
        frame = frame.f_back
    return False
