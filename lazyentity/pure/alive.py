"""How many properties are undecoded in this process; :mod:`lazyentity._alive` documents it."""

from __future__ import annotations

import itertools
import operator
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from lazyentity.codec.iterators import BARE, ITERATORS
from lazyentity.codec.undecoded import COUNTERWEIGHT, UNDECODED

# A count is consistent only with a global lock.
_COUNTS = sys.implementation.name == "cpython" and "free-threading build" not in sys.version
_COUNTED = (UNDECODED, COUNTERWEIGHT)

_by_names = 0
_modules = 0
# Held, so that the references of their names are there as long as they are counted.
_namespaces: list[dict[str, Any]] = []
_pages: tuple[type, ...] = ()

_DEPTH = 6
_MOST_LOOKS = 10_000
_SCALARS = frozenset((str, int, float, bool, bytes, type(None)))
_bare: set[type] = set(BARE)


def _count() -> int:
    # Unpacking calls both times from C, and so no other thread runs in between.
    undecoded, counterweight = map(sys.getrefcount, _COUNTED)
    return undecoded - counterweight - _by_names


def _count_names() -> None:
    global _by_names, _modules, _namespaces
    modules = len(sys.modules)
    found = []
    names = 0
    # A name of another module may change at any time: it counts as a property, which is safe.
    # Somebody may have put in other keys than strings.
    loaded: list[tuple[object, object]] = list(sys.modules.items())
    own = {
        id(module): module
        for name, module in loaded
        if isinstance(name, str)
        and name.partition(".")[0] == "lazyentity"
        and isinstance(module, ModuleType)
    }
    for namespace in map(vars, own.values()):
        values = list(namespace.values())
        of_module = sum(map(operator.is_, values, itertools.repeat(UNDECODED)))
        of_module -= sum(map(operator.is_, values, itertools.repeat(COUNTERWEIGHT)))
        if of_module:
            found.append(namespace)
            names += of_module
    # In this order: another thread may ask for the count in between.
    _by_names = names
    _modules = modules
    _namespaces = found


def undecoded_count() -> int:
    """As :func:`lazyentity._alive.undecoded_count`."""
    if not _COUNTS:
        return 1
    _count_names()
    return _count()


def any_undecoded() -> bool:
    """As :func:`lazyentity._alive.any_undecoded`."""
    if not _COUNTS:
        return True
    if _count() > 0 and len(sys.modules) != _modules:
        # Imports in the meantime can have added names.
        _count_names()
    return _count() > 0


def is_bare(value: Any) -> bool:
    """As :func:`lazyentity._alive.is_bare`."""
    return _is_bare(value, _DEPTH, itertools.repeat(None, _MOST_LOOKS))


def _is_bare(value: Any, depth: int, looks: Iterator[None]) -> bool:
    kind = type(value)
    if kind is dict or kind is list or kind is tuple:
        # Containers can be shared, at each level anew.
        if depth == 0 or next(looks, _MOST_LOOKS) is not None:
            return False
        # A copy, which other threads cannot change.
        items = list(value.values() if kind is dict else value)
        return all(_is_bare(item, depth - 1, looks) for item in items)
    # Other metaclasses may make classes that have no hash.
    return type(kind) is type and (kind in _SCALARS or kind in _bare)


def are_bare(args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> bool:
    """As :func:`lazyentity._alive.are_bare`."""
    return all(map(is_bare, args)) and all(map(is_bare, list((kwargs or {}).values())))


def are_settled(args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> bool:
    """As :func:`lazyentity._alive.are_settled`."""
    return each_settled(*args, *list((kwargs or {}).values()))


def each_settled(*args: Any) -> bool:
    """As :func:`lazyentity._alive.each_settled`."""
    return not any_undecoded() and not any(map(_leads_to_items, args))


def _leads_to_items(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return any(map(_makes_items, list(value.values())))
    if kind is list or kind is tuple:
        return any(map(_makes_items, list(value)))
    return _makes_items(value)


def holds_no_values(kind: type) -> None:
    """As :func:`lazyentity._alive.holds_no_values`."""
    _bare.add(kind)


def holds_its_fields(kind: type, slots: tuple[Any, ...]) -> None:
    """As :func:`lazyentity._alive.holds_its_fields`: their dicts are not looked into."""


def makes_entities_later(kind: type) -> None:
    """As :func:`lazyentity._alive.makes_entities_later`."""
    global _pages
    _pages = (kind,)


def _makes_items(value: Any) -> bool:
    kind = type(value)
    # Other metaclasses may make classes that have no hash.
    if type(kind) is type and kind in ITERATORS:
        return True
    # issubclass() would hash the class, too.
    return any(base is page for page in _pages for base in kind.__mro__)
