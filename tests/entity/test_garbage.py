"""Garbage collections: in the middle of a read, and of entities that lead to themselves."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from lazyentity import LazyEntity
from tests.support.strategies.samples import serialise

RAW = serialise(
    {"inner": {"deep": 1}, "many": [1, 2], "text": "t", "more": "u"},
    meanings={"many": (9, [14, None]), "text": 15, "more": 15},
)

READS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "key": lambda entity: {"key": entity.key},
    "excluded": lambda entity: {"excluded": entity.exclude_from_indexes},
    "meanings": lambda entity: {"meanings": entity._meanings},
    "attributes": lambda entity: dict(vars(entity)),
    "text": lambda entity: {"text": entity["text"]},
    "more": lambda entity: {"more": entity["more"]},
    "items": lambda entity: dict(entity.items()),
}


@contextmanager
def _collecting_later(allocations: int, callback: Callable[[], object]) -> Iterator[None]:
    """Collect garbage when ``allocations`` containers were made, and call ``callback`` then."""
    pending = [callback]

    def call_back(phase: str, _: dict[str, int]) -> None:
        if phase == "start" and pending:
            pending.pop()()

    thresholds = gc.get_threshold()
    # Allocation reuses freed objects as long as there are some; a full collection clears them.
    gc.collect()
    taken: list[object] = [kind() for _ in range(200) for kind in (dict, list)]
    gc.callbacks.append(call_back)
    gc.set_threshold(gc.get_count()[0] + allocations, 1_000_000, 1_000_000)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(call_back)
        taken.clear()


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.parametrize("second", READS)
@pytest.mark.parametrize("first", READS)
def test_both_get_the_same_objects(lazy_type: type[LazyEntity], first: str, second: str) -> None:
    """All callers get the value that was read during a collection, and its meanings."""
    for allocations in range(20):
        entity: Any = lazy_type.from_bytes(RAW)
        meanwhile: dict[str, Any] = {}
        with _collecting_later(allocations, lambda: meanwhile.update(READS[second](entity))):  # noqa: B023  # called before the next turn
            read = READS[first](entity)
        for reads, found in ((first, read), (second, meanwhile)):
            again = READS[reads](entity)
            assert all(again[place] is value for place, value in found.items())
        assert entity._meanings.keys() == {"many", "text", "more"}
        # The client writes a meaning back only with the very object it was read with.
        assert all(original is entity[name] for name, (_, original) in entity._meanings.items())


WAYS: dict[str, Callable[[Any], object]] = {
    "a value": lambda entity: entity.update(text=entity),
    "a new value": lambda entity: entity.setdefault("more", [entity]),
    "storage": lambda entity: dict.__setitem__(entity, "text", entity),
    "a list that was read": lambda entity: entity["many"].append(entity),
    "an embedded entity": lambda entity: entity["inner"].update(deep=entity),
    # Only the collector looks into a slot, which a subclass may have.
    "an attribute or slot": lambda entity: setattr(entity, "slot", entity),
    "an attribute": lambda entity: setattr(entity, "itself", entity),
    "an attribute of an embedded entity": lambda entity: setattr(entity["inner"], "outer", entity),
    "vars()": lambda entity: vars(entity).update(itself=entity),
    "__dict__": lambda entity: setattr(entity, "__dict__", {"itself": entity}),
    "the key": lambda entity: setattr(entity.key, "owner", entity),
    "meanings": lambda entity: entity._meanings.update(text=(15, entity)),
    "a policy": lambda entity: setattr(entity, "_policy", [entity]),
}


@pytest.mark.parametrize("has_slots", [False, True])
@pytest.mark.parametrize("lead", WAYS.values(), ids=WAYS)
def test_cycles_are_collected(
    lazy_type: type[LazyEntity], lead: Callable[[Any], object], has_slots: bool
) -> None:
    """Also where the entity was not known to the collector before."""
    kind: Any = type("Slotted", (lazy_type,), {"__slots__": ("slot",)}) if has_slots else lazy_type
    entity = kind.from_bytes(RAW)
    lead(entity)
    seen = weakref.ref(entity)
    del entity
    gc.collect()
    assert seen() is None
