"""Objects of the application that hold a function which was replaced as an attribute."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator
from types import FunctionType
from typing import Any

from lazyentity.patches.registry import loaded_modules


def objects_holding(
    originals: Collection[int], skip: Callable[[str], bool]
) -> dict[int, list[str]]:
    """Return the names of objects in loaded modules that hold one of ``originals``.

    Looked into are default arguments, attributes of classes and ``functools.partial``.

    Args:
        originals: the ids of the functions.
        skip: says whether the module of a name is not looked into.

    Returns:
        Dotted names, by the id of the function.
    """
    found: dict[int, list[str]] = {}
    for name, module in sorted(loaded_modules()):
        namespace = getattr(module, "__dict__", None)
        if not isinstance(namespace, dict) or skip(name):
            continue
        for attribute, value in list(namespace.items()):
            for held in set(map(id, _held_by(value, name))).intersection(originals):
                found.setdefault(held, []).append(f"{name}.{attribute}")
    return found


def _held_by(value: Any, module: str) -> Iterator[Any]:
    if issubclass(type(value), type):
        # A class that was imported is found where it was made.
        if vars(value).get("__module__") == module:
            for held in list(vars(value).values()):
                inner = getattr(held, "__func__", None) if type(held) is staticmethod else held
                yield inner
                yield from _held_by_function(inner)
    else:
        yield from _held_by_function(value)


def _held_by_function(value: Any) -> Iterator[Any]:
    if type(value) is FunctionType:
        yield from value.__defaults__ or ()
        yield from (value.__kwdefaults__ or {}).values()
    elif type(value) is functools.partial:
        yield from (value.func, *value.args, *value.keywords.values())
