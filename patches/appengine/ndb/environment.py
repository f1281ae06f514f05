"""The variable of the environment that says that a request has begun.

ndb reads it several times for each model, to see whether the thread's context is of this request.
Each read of ``os.environ`` takes six calls.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import tasklets

from lazyentity.patches.upstream import is_upstream

_Function = Callable[..., Any]


def _lookup(name: str) -> Callable[[], Any]:
    """Return a function that gives the value of a variable; None, if there is none, or in doubt."""
    environ: Any = os.environ
    values = getattr(environ, "_data", None)
    if type(environ) is not os._Environ or type(values) is not dict:
        return lambda: None
    encoded = environ.encodekey(name)

    def look_up() -> Any:
        # Somebody may have put another mapping there.
        return values.get(encoded) if os.environ is environ else None

    return look_up


def get_context(original: _Function, _is_active: Callable[[], bool]) -> _Function:
    """Replace ``get_context``, which returns the context of the thread and request.

    Args:
        original: ndb's own.
    """
    if not is_upstream(original, tasklets):
        return original
    state = tasklets._state
    look_up = _lookup(tasklets._CONTEXT_KEY)

    @functools.wraps(original)
    def get_context() -> Any:
        context = state.current_context
        return context if context is not None and look_up() else original()

    return get_context
