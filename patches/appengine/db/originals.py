"""Telling functions of db itself from those that somebody put in their place."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

from google.appengine.ext import db
from google.appengine.ext.db import polymodel

from lazyentity.patches.registry import is_of


def function_of(kind: Any, name: str) -> Any:
    """Return the function of a method, which may be a class method or a static one."""
    method = inspect.getattr_static(kind, name, None)
    return method.__func__ if type(method) in (classmethod, staticmethod) else method


def own(kind: Any, name: str) -> Any:
    """Return what stands for a method of a class of db; if it was replaced, a new object."""
    found = function_of(kind, name)
    is_replaced = type(found) is FunctionType and not (is_of(db, found) or is_of(polymodel, found))
    return object() if is_replaced else found
