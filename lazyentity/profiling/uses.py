"""Uses of received entities beside decoding a property, which show that a program needs them whole.

A keys-only query serves a program that uses nothing but the keys of its entities. While a profile
runs, :class:`~lazyentity.entity.LazyEntityBase`, which precedes the mapping of either backend, has
methods that note every other use, and then do the same as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from lazyentity.entity import LazyEntityBase
from lazyentity.profiling.counts import CHANGED, COMPARED, COPIED, FLAGS, NAMES, WRITTEN
from lazyentity.profiling.observer import while_running

_METHODS: Final = {
    NAMES: ("__contains__", "__iter__", "__len__", "__reversed__", "keys", "_storage"),
    CHANGED: (
        *("__setitem__", "__delitem__", "__ior__"),
        *("update", "setdefault", "pop", "popitem", "clear"),
    ),
    # Serialising for raw() and for every call that writes asks this first.
    WRITTEN: ("_require_writable",),
    COPIED: ("_changes", "_decoded", "_serialised_values"),
    FLAGS: ("_wire_excluded", "_wire_meanings"),
    # Entities with other keys are not equal, without a property being read.
    COMPARED: ("__eq__",),
}

_OF_DICT: Final = frozenset((*_METHODS[NAMES], "__delitem__", "clear")) - {"_storage"}
"""The methods that are dict's own, see :class:`~lazyentity.storage.lazydict.LazyDict`."""

_MISSING: Final = object()


def _note(entity: Any, use: str) -> None:
    entity_counts = entity._entity_counts
    if entity_counts is not None:
        entity_counts.call_site.uses.add(use)


def _noting(name: str, use: str) -> Callable[[Any], Any]:
    def make(original: Any) -> Any:
        known = getattr(dict, name) if name in _OF_DICT else original
        if known is not None:

            def noting(self: Any, /, *args: Any) -> Any:
                entity_counts = self._entity_counts
                if entity_counts is not None:
                    entity_counts.call_site.uses.add(use)
                return known(self, *args)

            return noting

        def inherited(self: Any, /, *args: Any, **kwargs: Any) -> Any:
            _note(self, use)
            return getattr(super(LazyEntityBase, self), name)(*args, **kwargs)

        return inherited

    return make


def _get(_: Any) -> Any:
    def get(self: Any, name: Any, default: Any = None, /) -> Any:
        value = super(LazyEntityBase, self).get(name, _MISSING)
        if value is not _MISSING:
            return value
        # Other entities of the kind may have the property.
        _note(self, NAMES)
        return default

    return get


def _missing(_: Any) -> Any:
    def __missing__(self: Any, name: Any, /) -> NoReturn:  # noqa: N807  # its name
        _note(self, NAMES)
        raise KeyError(name)

    return __missing__


for _use, _names in _METHODS.items():
    for _name in _names:
        while_running(LazyEntityBase, _name, _noting(_name, _use))
while_running(LazyEntityBase, "get", _get)
while_running(LazyEntityBase, "__missing__", _missing)
