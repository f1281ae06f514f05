"""A walk through values to the entities in them; :mod:`lazyentity.search` documents it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lazyentity.profiling.observer import STORAGE, VALIDATION

_stored_values = dict.values


class EntityFinder:
    """Walks through values.

    Args:
        leaves: the set of types of values that hold no entity.
        slots_of: takes a type; returns readers of its slots, None if it is no record.
        is_model: takes a type; says whether pydantic takes its instances for valid models.
        items_of: takes an object; returns a list of its items, None if it is no container.
        children_of: takes an object, neither a container nor a record; returns the values in it.
        forgetting: for caches of classes, which the pure backend leaves to ``slots_of``.
    """

    def __init__(
        self,
        leaves: set[type],
        slots_of: Callable[[type], tuple[Any, ...] | None],
        is_model: Callable[[type], bool],
        items_of: Callable[[Any], list[Any] | None],
        children_of: Callable[[Any], Iterable[Any]],
        forgetting: Callable[[Any, dict[int, Any]], object],
    ) -> None:
        self._leaves = leaves
        self._slots_of = slots_of
        self._is_model = is_model
        self._items_of = items_of
        self._children_of = children_of

    def is_plain(self, value: Any) -> bool:
        """As :func:`lazyentity.search.is_plain`."""
        if type(value) is dict:
            return not self._held_in(list(value.values()))
        return self._is_leaf(type(value))

    def decode(self, value: Any, validating: bool = False, levels: int = 3) -> bool:
        """As :func:`lazyentity.search.decode_in_place`."""
        if self._is_leaf(type(value)):
            return False
        found = False
        # Keeps the objects alive, so that no id is reused.
        seen: dict[int, Any] = {}
        stack = [value]
        for level in range(levels + 1):
            objects: list[Any] = []
            models: list[Any] | None = [] if validating else None
            found |= self._containers(stack, objects, seen, models)
            if models:
                # Once: the fields of models are searched, models inside models are not.
                stack = [held for model in models for held in self._fields(model)]
                found |= self._containers(stack, objects, seen, [])
            if not objects or level == levels:
                break
            stack = [held for each in objects for held in self._children_of(each)]
        return found

    def _containers(
        self,
        stack: list[Any],
        objects: list[Any],
        seen: dict[int, Any],
        models: list[Any] | None,
    ) -> bool:
        """Empty ``stack``; objects in it whose attributes are to be looked at go to ``objects``.

        Pydantic models go to ``models``; if that list is None, they are searched as records.
        """
        found = False
        while stack:
            value: Any = stack.pop()
            kind: Any = type(value)
            if self._is_leaf(kind):
                continue
            # Other threads may change a container during iteration, and so may the hash of a class:
            # it is copied first.
            if kind is dict:
                held = self._held_in(list(value.values()))
            elif kind is list or kind is tuple:
                held = self._held_in(list(value))
            # By the type: an object may pass for one of another class.
            elif issubclass(kind, dict):
                found |= _decode_entity(value, STORAGE if models is None else VALIDATION)
                held = self._held_in(list(_stored_values(value)))
            elif self._slots_of(kind) is not None:
                if models is not None and self._is_model(kind):
                    if id(value) not in seen:
                        seen[id(value)] = value
                        models.append(value)
                    continue
                held = self._fields(value)
            elif (items := self._items_of(value)) is not None:
                held = self._held_in(items)
            else:
                if id(value) not in seen:
                    seen[id(value)] = value
                    objects.append(value)
                continue
            if held and id(value) not in seen:
                seen[id(value)] = value
                stack += held
        return found

    def _is_leaf(self, kind: Any) -> bool:
        try:
            return kind in self._leaves
        except TypeError:
            # A metaclass that defines __eq__ alone makes classes that have no hash.
            return False

    def _held_in(self, items: Sequence[Any]) -> list[Any]:
        """Return the ``items`` that may hold entities, or are entities."""
        leaves = self._leaves
        try:
            return [item for item in items if type(item) not in leaves]
        except TypeError:
            return [item for item in items if not self._is_leaf(type(item))]

    def _fields(self, record: Any) -> list[Any]:
        slots = self._slots_of(type(record)) or ()
        return [*instance_dict(record).values(), *children_in(slots, record)]


def _decode_entity(value: Any, operation: str) -> bool:
    if not hasattr(type(value), "_decode_all"):
        return False
    if value._undecoded():
        value._decode_all(operation)
    return True


def instance_dict(value: Any) -> dict[str, Any]:
    """Return a copy of the attributes of ``value``; empty, if it has none."""
    try:
        return dict(object.__getattribute__(value, "__dict__"))
    except Exception:  # noqa: BLE001  # a class may say anything of its instances' attributes
        return {}


def children_in(slots: Iterable[Any], value: Any) -> list[Any]:
    """Return the values in the slots of ``value`` that are assigned."""
    held = []
    for slot in slots:
        try:
            held.append(slot.__get__(value))
        except AttributeError:
            # It was not assigned.
            continue
    return held
