"""ndb's context, in tests over the services in memory."""

from __future__ import annotations

from typing import Any

from google.appengine.ext.ndb import context, model, tasklets


def fresh() -> Any:
    """Enter a context that has nothing cached."""
    made = context.Context(model.make_connection())
    tasklets.set_context(made)
    return made
