"""Telling functions of db itself from those that somebody put in their place."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from google.appengine.ext import db
from google.appengine.ext.db import polymodel

from lazyentity.patches.upstream import UpstreamModules, function_of

UPSTREAM = UpstreamModules(db, polymodel)


def upstream_function(kind: Any, name: str) -> Any:
    """Return db's own method of a class; if it was replaced, a new object.

    The method may be inherited from ``object``.
    """
    found = function_of(kind, name)
    return found if type(found) is not FunctionType else UPSTREAM.upstream_function(kind, name)
