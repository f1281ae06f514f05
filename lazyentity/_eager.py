"""The switch that gives stock entities for a stretch of code."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

_eager: contextvars.ContextVar[bool] = contextvars.ContextVar("lazyentity.eager", default=False)


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Give stock entities for the RPCs that are sent inside this context.

    The decision belongs to the RPC: entities of a page that was fetched inside stay stock when they
    are reached outside, and the next page of that query, fetched outside, is lazy again. Like every
    context variable it is the current thread's or asyncio task's own. May be nested.
    """
    token = _eager.set(True)
    try:
        yield
    finally:
        _eager.reset(token)


def is_eager() -> bool:
    """Say whether the current thread or task is inside :func:`eager`."""
    return _eager.get()
