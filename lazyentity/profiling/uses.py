"""Uses of received entities beside decoding a property, which show that a program needs them whole.

A keys-only query serves a program that uses nothing but the keys of its entities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from lazyentity.profiling.counts import CHANGED, COMPARED, COPIED, FLAGS, NAMES, WRITTEN

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


class CountedEntity:
    """The part of a lazy entity that arrived while a profile runs: its methods note its uses.

    Entities inside of it have the same class, and are not counted.
    """

    __slots__ = ()

    _entity_counts: Any

    @classmethod
    def _counted_type(cls) -> type:
        return cls

    def _note(self, use: str) -> None:
        entity_counts = self._entity_counts
        if entity_counts is not None:
            entity_counts.call_site.uses.add(use)

    def get(self, name: Any, default: Any = None, /) -> Any:
        """As of the entity."""
        value = super().get(name, _MISSING)  # type: ignore[misc]  # of the mapping
        if value is not _MISSING:
            return value
        # Other entities of the kind may have the property.
        self._note(NAMES)
        return default

    def __missing__(self, name: Any, /) -> NoReturn:
        self._note(NAMES)
        raise KeyError(name)


def _noting(name: str, use: str) -> Callable[..., Any]:
    of_dict = getattr(dict, name, None) if name in _OF_DICT else None

    def noting(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        self._note(use)
        if of_dict is not None:
            return of_dict(self, *args, **kwargs)
        return getattr(super(CountedEntity, self), name)(*args, **kwargs)

    return noting


for _use, _names in _METHODS.items():
    for _name in _names:
        setattr(CountedEntity, _name, _noting(_name, _use))
