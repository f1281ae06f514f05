"""The garbage collector frees entities that lead to themselves, whatever way they do."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from lazyentity import LazyEntity
from tests.support.strategies.samples import serialise

RAW = serialise({"text": "t", "many": [1], "inner": {"deep": 1}})

WAYS: dict[str, Callable[[Any], object]] = {
    "a value": lambda entity: entity.update(text=entity),
    "a new value": lambda entity: entity.setdefault("more", [entity]),
    "storage": lambda entity: dict.__setitem__(entity, "text", entity),
    "a list that was read": lambda entity: entity["many"].append(entity),
    "an embedded entity": lambda entity: entity["inner"].update(deep=entity),
    "an attribute": lambda entity: setattr(entity, "itself", entity),
    "an attribute of an embedded entity": lambda entity: setattr(entity["inner"], "outer", entity),
    "vars()": lambda entity: vars(entity).update(itself=entity),
    "__dict__": lambda entity: setattr(entity, "__dict__", {"itself": entity}),
    "the key": lambda entity: setattr(entity.key, "owner", entity),
    "meanings": lambda entity: entity._meanings.update(text=(15, entity)),
    "a policy": lambda entity: setattr(entity, "_policy", [entity]),
}


@pytest.mark.parametrize("lead", WAYS.values(), ids=WAYS)
def test_cycles_are_collected(lazy_type: type[LazyEntity], lead: Callable[[Any], object]) -> None:
    """Also where the entity was not known to the collector before."""
    entity = lazy_type.from_bytes(RAW)
    lead(entity)
    seen = weakref.ref(entity)
    del entity
    gc.collect()
    assert seen() is None


def test_cycles_by_a_slot_are_collected(lazy_type: type[LazyEntity]) -> None:
    """A subclass may have slots, which only the collector looks into."""
    kind: Any = type("Slotted", (lazy_type,), {"__slots__": ("other",)})
    entity = kind.from_bytes(RAW)
    entity.other = entity
    seen = weakref.ref(entity)
    del entity
    gc.collect()
    assert seen() is None
