"""Objects of the application that hold a function which was replaced as an attribute."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from types import FunctionType
from typing import Any

from lazyentity.patches.registry import loaded_modules

# vars() of a class calls its metaclass, which is code of the application.
_attributes_of_class: Any = type.__dict__["__dict__"].__get__


def objects_holding(originals: Collection[int], skipped: Collection[str]) -> dict[int, list[str]]:
    """Return the names of objects in loaded modules that hold one of ``originals``.

    Looked into are default arguments, attributes of classes and ``functools.partial``.

    Args:
        originals: the ids of the functions.
        skipped: names of packages whose modules are not looked into.

    Returns:
        Dotted names, by the id of the function.
    """
    found: dict[int, list[str]] = {}
    for name, module in sorted(loaded_modules()):
        namespace = getattr(module, "__dict__", None)
        if not isinstance(namespace, dict) or name.partition(".")[0] in skipped:
            continue
        for attribute, value in list(namespace.items()):
            kind = type(value)
            if kind is FunctionType or kind is functools.partial:
                objects = _children_of_function(value)
            elif issubclass(kind, type) and _attributes_of_class(value).get("__module__") == name:
                # A class that was imported is found where it was made.
                objects = _children_of_class(value)
            else:
                continue
            for held in set(map(id, objects)).intersection(originals):
                found.setdefault(held, []).append(f"{name}.{attribute}")
    return found


def _children_of_class(value: type) -> Sequence[Any]:
    held = list(_attributes_of_class(value).values())
    for attribute in list(held):
        kind = type(attribute)
        inner = attribute.__func__ if kind is staticmethod else attribute
        if inner is not attribute:
            held.append(inner)
        # Most have no defaults: a call for each would take most of the time.
        kind = type(inner)
        if kind is functools.partial or (
            kind is FunctionType and (inner.__defaults__ or inner.__kwdefaults__)
        ):
            held += _children_of_function(inner)
    return held


def _children_of_function(value: Any) -> Sequence[Any]:
    if type(value) is functools.partial:
        return (value.func, *value.args, *value.keywords.values())
    return (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
