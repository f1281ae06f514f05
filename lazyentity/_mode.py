"""Lazy entities or stock ones: by the environment, and by :func:`eager` in a thread or task.

:func:`reads_eagerly` marks functions: RPCs that are sent inside of them give stock entities.
Marked functions are called far more often than RPCs are sent. So a call only leaves a note that
some thread is inside a marked function, and an RPC that finds a note looks for their frames.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TypeVar

from lazyentity._environment import DISABLE, is_set
from lazyentity._environment import EAGER as EAGER_SWITCH

_Function = TypeVar("_Function", bound=Callable[..., object])

EAGER: contextvars.ContextVar[bool] = contextvars.ContextVar("lazyentity.eager", default=False)


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Give stock entities for the RPCs that are sent inside this context.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> client = datastore.Client(project="demo")
    >>> with lazyentity.eager():
    ...     stock = list(lazyentity.wrap(client).query(kind="Order").fetch(limit=10))

    The decision belongs to the RPC. Entities of a page fetched inside stay stock when they are read
    outside; the next page of that query, fetched outside, is lazy again. Each thread and asyncio
    task has its own setting. May be nested.

    Inside, ``LazyEntity.from_bytes()``, a snapshot and the unpickling of an element of Beam give
    stock objects, too.
    """
    token = EAGER.set(True)
    try:
        yield
    finally:
        EAGER.reset(token)


NOTES: list[None] = []
"""A note for each call of a marked function that has not ended, in any thread."""
_marked: set[CodeType] = set()

# Methods of a list are atomic, and take a third of the time that setting a context variable takes.
enter: Callable[[None], None] = NOTES.append
"""Called with None by a marked function when it begins: adds a note."""
leave: Callable[[], None] = NOTES.pop
"""Called by a marked function however it ends: removes a note."""


def reads_eagerly(function: _Function) -> _Function:
    """Mark a Python function: the RPCs sent while it runs give stock entities.

    Args:
        function: a function that calls :func:`enter` and, in the end, :func:`leave`.

    Returns:
        The function itself.
    """
    mark(function.__code__)
    return function


def mark(code: CodeType) -> None:
    """Mark the code of a function as :func:`reads_eagerly` does.

    Args:
        code: of a function that calls another one, with a note there meanwhile.
    """
    _marked.add(code)


def is_marked(code: CodeType) -> bool:
    """Say whether the code of a function is marked."""
    return code in _marked


def is_eager() -> bool:
    """Say whether this is called inside :func:`eager`, or by a function that reads eagerly."""
    return EAGER.get() or (bool(NOTES) and _is_inside_marked())


def _is_inside_marked() -> bool:
    # The note may be another thread's.
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _marked:
            return True
        frame = frame.f_back
    return False


@functools.cache
def is_switched_off() -> bool:
    """Say whether the environment asks for stock entities.

    The environment is read once, when :class:`~lazyentity.entity.LazyEntity` is imported.
    """
    return is_set(DISABLE) or is_set(EAGER_SWITCH)


def gives_stock() -> bool:
    """Say whether an entity that is made of bytes now is a stock one."""
    return is_switched_off() or is_eager()
