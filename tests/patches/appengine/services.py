"""The services of App Engine in memory, and lazy reads of their client."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from google.appengine.ext.ndb import context, model, tasklets

import lazyentity

with warnings.catch_warnings():
    # It imports modules that Python has deprecated.
    warnings.simplefilter("ignore")
    from google.appengine.ext import testbed


@contextmanager
def services(*, datastore: bool) -> Iterator[Any]:
    """Have memcache and users in memory, for the application ``lazy-app``.

    Args:
        datastore: whether there is Datastore, too.
    """
    bed = testbed.Testbed()
    bed.activate()
    bed.setup_env(app_id="lazy-app", overwrite=True)
    if datastore:
        bed.init_datastore_v3_stub()
    bed.init_memcache_stub()
    bed.init_user_stub()
    try:
        yield bed
    finally:
        bed.deactivate()


@contextmanager
def lazily(*, eager: bool = False) -> Iterator[None]:
    """Have reads lazy inside; eager ones, if asked for."""
    lazyentity.patch("appengine", strict=True, eager=eager)
    try:
        yield
    finally:
        lazyentity.unpatch("appengine")


def fresh() -> Any:
    """Enter a context that has nothing cached."""
    made = context.Context(model.make_connection())
    tasklets.set_context(made)
    return made
