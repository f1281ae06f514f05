"""Telling functions of ndb itself from those that somebody put in their place."""

from __future__ import annotations

from typing import Any, Final

from google.appengine.ext.ndb import context, key, model, polymodel, utils

from lazyentity.patches.upstream import UpstreamModules

UPSTREAM: Final = UpstreamModules(model, polymodel, key, context, utils)

is_upstream = UPSTREAM.is_upstream
upstream_function = UPSTREAM.upstream_function


def function_of(method: Any) -> Any:
    """Return the function of a class method or of a static method, found in its class."""
    return getattr(method, "__func__", method)
