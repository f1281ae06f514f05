"""Uses of received entities beside decoding a property, which show that a program needs them whole.

A keys-only query serves a program that uses nothing but the keys of its entities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from lazyentity.profiling.counters import ProfileData

_METHODS: Final = (
    *("__contains__", "__iter__", "__len__", "__reversed__", "keys", "_storage"),
    *("__setitem__", "__delitem__", "__ior__"),
    *("update", "setdefault", "pop", "popitem", "clear"),
    # Serialising for raw() and for every call that writes asks this first.
    "_require_writable",
    # Copies, and detached entities.
    *("_changes", "_decoded", "_serialised_values", "_wire_excluded", "_wire_meanings"),
    # Entities with other keys are not equal, without a property being read.
    "__eq__",
)


def noting_uses(entity_type: Any) -> Callable[[ProfileData | None], None]:
    """Return a listener of the profile's switch, by which the uses of counted entities are noted.

    While a profile runs, the class has methods that note a use, and then do the same as before. The
    entities keep their class: code may ask for it.

    Args:
        entity_type: the class of lazy entities that precedes the mapping of either backend.
    """
    originals = {name: vars(entity_type)[name] for name in _METHODS if name in vars(entity_type)}
    noting = {name: _noting(entity_type, name, originals.get(name)) for name in _METHODS}

    def switch(data: ProfileData | None) -> None:
        for name, method in noting.items():
            if data is not None:
                setattr(entity_type, name, method)
            elif name in originals:
                setattr(entity_type, name, originals[name])
            elif name in vars(entity_type):
                delattr(entity_type, name)

    return switch


def _noting(entity_type: Any, name: str, original: Any) -> Callable[..., Any]:
    def noting(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        _note(self)
        if original is not None:
            return original(self, *args, **kwargs)
        return getattr(super(entity_type, self), name)(*args, **kwargs)

    noting.__name__ = name
    return noting


def _note(entity: Any) -> None:
    if entity._entity_counts is not None:
        entity._entity_counts.use()
