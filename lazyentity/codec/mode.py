"""The mode of the current thread or task: lazy entities, or stock ones inside :func:`eager`."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Iterator

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


def is_eager() -> bool:
    """Say whether the current thread or task is inside :func:`eager`."""
    return EAGER.get()
