"""Lazy entities or stock ones: by the environment, and by :func:`eager` in a thread or task."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator

from lazyentity._environment import DISABLE, EAGER_SWITCH, is_set

EAGER_MODE: contextvars.ContextVar[bool] = contextvars.ContextVar("lazyentity.eager", default=False)


@contextlib.contextmanager
def eager() -> Iterator[None]:
    """Give stock entities for the RPCs that are sent inside this context.

    >>> import lazyentity
    >>> from google.cloud import datastore
    >>> client = datastore.Client(project="demo")
    >>> with lazyentity.eager():
    ...     stock = list(lazyentity.wrap(client).query(kind="Order").fetch(limit=10))

    The moment when an RPC is sent decides. Entities of a page that was fetched inside are stock,
    even if you read them outside; the next page of that query, fetched outside, is lazy again. Each
    thread and asyncio task has its own setting. Contexts may be nested.

    Inside, ``LazyEntity.from_bytes()`` and snapshots also give stock entities, and unpickling an
    element of Beam gives a stock element.
    """
    token = EAGER_MODE.set(True)
    try:
        yield
    finally:
        EAGER_MODE.reset(token)


is_eager: Callable[[], bool] = EAGER_MODE.get
"""Say whether this is called inside :func:`eager`."""


def require_flag(function: str, option: str, given: object) -> None:
    """Check an option that is on or off.

    Raises:
        TypeError: if it is neither a bool nor None.
    """
    if given is not None and not isinstance(given, bool):
        raise TypeError(
            f"{function}() takes {option}= as True or False, not as {type(given).__qualname__}"
        )


@functools.cache
def is_switched_off() -> bool:
    """Say whether the environment asks for stock entities.

    The environment is read once, when :class:`~lazyentity.entity.LazyEntity` is imported.
    """
    return is_set(DISABLE) or is_set(EAGER_SWITCH)


def gives_stock() -> bool:
    """Say whether an entity that is made of bytes now is a stock one."""
    return is_switched_off() or is_eager()
