"""Expandos: dynamic properties, which ndb makes from the stored entity, are made on request."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from hypothesis import given
from hypothesis import strategies as st

from tests.patches.models.pairs import FEWER, is_lazy, reading
from tests.patches.ndb.pairs import Pair, lazy_model, patched, stock_model, written
from tests.patches.ndb.raw_entities import embedded, entity_of
from tests.support.snapshots import Raised, outcome


class Expanding(ndb.Expando):
    known = ndb.IntegerProperty("k")
    number = ndb.IntegerProperty()


class Unindexed(ndb.Expando):
    _default_indexed = False
    _write_empty_list_for_dynamic_properties = True


class Assigning(ndb.Expando):
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)


class WithProperty(ndb.Expando):
    @property
    def half(self) -> Any:
        return self.whole / 2

    @half.setter
    def half(self, value: Any) -> None:
        self.whole = value


class PerEntity(ndb.Expando):
    @property
    def _default_indexed(self) -> bool:
        return len(self._properties) % 2 == 0


class Cloning(ndb.Expando):
    def _clone_properties(self) -> None:
        super()._clone_properties()
        self._properties["made_by_cloning"] = ndb.GenericProperty("made_by_cloning")


class Constructing(ndb.Expando):
    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.made_by_constructor = 1


CLASSES = (Expanding, Unindexed, Assigning, WithProperty, PerEntity, Cloning, Constructing)


PROPERTIES: dict[str, Any] = {
    "k": 1,
    "text": "text",
    "nothing": None,
    "list": [1, None, "two"],
    "empty": [],
    "whole": 3,
    "blob": b"bytes",
    "deep": embedded(a=1, b=[embedded(c=None)]),
}


pytestmark = pytest.mark.usefixtures("modern_context")


def made_names(entity: Any) -> set[str]:
    """Return the names of the properties that a model has made, the class's own among them."""
    return {name for name, prop in dict.items(entity._properties) if hasattr(prop, "_code_name")}


@pytest.mark.parametrize("kind", ["Expanding", "Unindexed", "WithProperty"])
def test_one_property_is_made_when_it_is_read(kind: str) -> None:
    """And so is its value."""
    lazy = lazy_model(entity_of(kind, PROPERTIES))
    assert is_lazy(lazy)
    defined = set(type(lazy)._properties)
    assert made_names(lazy) == defined
    with patched():
        assert lazy.text == "text"
        assert made_names(lazy) == defined | {"text"}
        assert "text" not in lazy._values._undecoded()
        assert "whole" in lazy._values._undecoded()
        assert lazy.list == [1, None, "two"]
        assert lazy._properties["list"]._repeated
        assert lazy._properties["text"] is lazy._properties.get("text")


@pytest.mark.parametrize("kind", ["Assigning", "PerEntity", "Cloning", "Constructing"])
def test_what_takes_part_in_making_properties_is_left_to_ndb(kind: str) -> None:
    assert not is_lazy(lazy_model(entity_of(kind, PROPERTIES)))


@pytest.mark.parametrize("name", ["_private", "dotted.name", "half", "query", "known", "key", ""])
def test_names_that_mean_something_else(name: str) -> None:
    raw = entity_of("WithProperty" if name == "half" else "Expanding", {name: 4, "text": "text"})
    stock = outcome(stock_model, raw)
    if isinstance(stock, Raised):
        assert outcome(lazy_model, raw) == stock
        return
    Pair.from_raw(raw).agree(lambda entity: list(vars(entity)), reading("text"), written)


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    **{f"get {name}": reading(name) for name in PROPERTIES},
    "set": lambda entity: setattr(entity, "text", "other"),
    "set new": lambda entity: setattr(entity, "new", [1]),
    "set null": lambda entity: setattr(entity, "nothing", 1),
    "set dict": lambda entity: setattr(entity, "dict", {"a": {"b": 1}}),
    "delete": lambda entity: delattr(entity, "text"),
    "delete unknown": lambda entity: delattr(entity, "gone"),
    "delete of class": lambda entity: delattr(entity, "known"),
    "append": lambda entity: entity.list.append("three"),
    "to_dict": lambda entity: entity.to_dict(),
    "to_dict of some": lambda entity: entity.to_dict(include=["text", "list"]),
    "populate": lambda entity: entity.populate(text="other", known=5),
    "repr": repr,
    "names": lambda entity: sorted(entity._properties),
    "properties": lambda entity: sorted(map(repr, entity._properties.values())),
    "plain dict": lambda entity: sorted(dict(entity._properties)),
    "pop": lambda entity: repr(entity._properties.pop("text")),
    "replace": lambda entity: entity._properties.update(text=ndb.TextProperty("text")),
    "hasattr": lambda entity: [hasattr(entity, name) for name in (*PROPERTIES, "gone")],
    "attributes": lambda entity: list(vars(entity)),
    "default": lambda entity: setattr(entity, "_default_indexed", False),
    "equal": lambda entity: entity == copy.copy(entity),
    "copies": lambda entity: [copy.copy(entity), copy.deepcopy(entity)],
    "pickle": lambda entity: pickle.loads(pickle.dumps(entity)),
    "written": written,
}


@FEWER
@given(names=st.lists(st.sampled_from(sorted(OPERATIONS)), max_size=6))
@pytest.mark.parametrize("kind", [kind.__name__ for kind in CLASSES])
def test_anything_in_any_order(kind: str, names: list[str]) -> None:
    """Also with a class that takes part in making properties; ndb makes its entities."""
    Pair.from_raw(entity_of(kind, PROPERTIES)).agree(*(OPERATIONS[name] for name in names), written)


def test_a_property_that_the_class_gets_later() -> None:
    """A dynamic property becomes a defined one."""
    kind = type("Growing", (ndb.Expando,), {"known": ndb.IntegerProperty("k")})
    raw = entity_of("Growing", PROPERTIES)
    assert lazy_model(raw).text == "text"
    kind.text = ndb.StringProperty(default="none")  # type: ignore[attr-defined]  # ndb has no types
    kind._fix_up_properties()  # type: ignore[attr-defined]
    pair = Pair.from_raw(raw)
    pair.agree(reading("text"))
    assert isinstance(pair.lazy._properties["text"], ndb.StringProperty)
