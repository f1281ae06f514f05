"""ndb's context, and the patch, in tests over the services in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from google.appengine.ext.ndb import context, model, tasklets

import lazyentity


def fresh() -> Any:
    """Enter a context that has nothing cached."""
    made = context.Context(model.make_connection())
    tasklets.set_context(made)
    return made


@contextmanager
def lazily() -> Iterator[None]:
    """Have reads lazy inside."""
    lazyentity.patch("appengine", strict=True)
    try:
        yield
    finally:
        lazyentity.unpatch("appengine")
