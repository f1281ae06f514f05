"""A model that is read under the patch is to its user the model that stock db makes."""

from __future__ import annotations

import copy
import functools
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore_errors
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db
from hypothesis import assume, given, settings, strategies as st
from hypothesis.stateful import rule

from tests.patches.appengine.db.handmade import raw_entity
from tests.patches.appengine.db.model_strategies import (
    ANYTHING,
    DYNAMIC_NAMES,
    ENTITIES,
    changed_entities,
    stored_entities,
)
from tests.patches.appengine.db.pairs import (
    Pair,
    is_lazy,
    is_raised,
    lazy_model,
    seen,
    snapshot,
    stock_model,
    written,
)
from tests.patches.models.cases import Cases
from tests.patches.models.machine import PICKS, Twins, run
from tests.patches.models.shapes import Stored


class TestModels(Cases):
    pair = Pair
    stored = stored_entities()
    changed = changed_entities()


ON_VARS: list[Callable[[Any], Any]] = [
    len,
    sorted,
    dict,
    lambda attributes: {**attributes},
    lambda attributes: dict(attributes.items()),
    lambda attributes: dict(zip(attributes, attributes.values(), strict=True)),
    lambda attributes: {} | attributes,
    lambda attributes: attributes | {},
    lambda attributes: attributes.copy(),
    lambda attributes: len(list(reversed(attributes))),
    lambda attributes: "_p0" in attributes,
    lambda attributes: attributes.get("_p0"),
    lambda attributes: attributes.setdefault("_p0", 1),
    lambda attributes: attributes.pop("_p0", 2),
    lambda attributes: attributes == dict(attributes),
    lambda attributes: attributes != dict(attributes),
    lambda attributes: attributes.update(_p0="new"),
    lambda attributes: attributes.clear(),
]


WHOLE: dict[str, Callable[[Any], Any]] = {
    "to_dict": db.to_dict,
    "to_xml": lambda model: model.to_xml(),
    "message": lambda model: db.model_to_protobuf(model).SerializeToString(deterministic=True),
    "written": written,
    "entity": lambda model: model._entity,
    "keys": lambda model: (model.key(), model.parent_key(), model.has_key(), model.is_saved()),
    "projection": db.model_is_projection,
    "names": lambda model: (
        sorted(model.dynamic_properties()),
        sorted(model.instance_properties()),
    ),
}


@given(stored=stored_entities())
@settings(max_examples=20, derandomize=True)
def test_models_outlive_the_patch(stored: Stored) -> None:
    """A lazy model that is read with nothing patched gives the same values."""
    stock = stock_model(stored.raw)
    assert snapshot(lazy_model(stored.raw)) == snapshot(stock)


@settings(max_examples=50, derandomize=True)
@given(stored=stored_entities())
def test_models_are_lazy(stored: Stored) -> None:
    """The tests above would pass as well if nothing was."""
    pair = Pair.assumed(stored.raw)
    assume(not pair.stock.dynamic_properties())
    model = pair.lazy
    names = {"_parent", "_parent_key", "_app", "_entity", "_Model__namespace"}
    assert is_lazy(model)
    lazy_names = names_in_storage(model) - names - {"_from_entity", "_dynamic_properties", "_noise"}
    properties = model.properties().values()
    own = {prop._attr_name() for prop in properties if type(prop).__name__ == "Noisy"}
    absent = {prop._attr_name() for prop in properties if prop.name not in model._entity}
    assert lazy_names <= own | absent


def test_looking_up_one_attribute_loads_no_other() -> None:
    """``functools.cached_property`` looks for its own in ``__dict__``."""

    class Cached(db.Model):
        a = db.StringProperty()
        b = db.StringProperty()

        @functools.cached_property
        def upper(self) -> str:
            return str(self.a).upper()

    model = lazy_model(raw_entity("Cached", a="x", b="y"))
    assert (model.upper, model.upper) == ("X", "X")
    assert "_b" not in names_in_storage(model)
    assert "missing" not in vars(model)
    assert vars(model).get("missing", 1) == 1
    assert "_b" not in names_in_storage(model)
    assert vars(model)["_b"] == "y"
    assert dict(vars(model))["upper"] == "X"


def names_in_storage(model: Any) -> set[str]:
    """Return the names of the attributes that were made so far."""
    return set(dict.keys(model.__dict__))


class DbTwins(Twins):
    kind = Pair
    entities = ENTITIES
    anything = ANYTHING

    def name(self, pick: int) -> str:
        """A name in the code, mostly of a property."""
        names = [*self.shape.names, *DYNAMIC_NAMES, "unknown"]
        return names[pick % len(names)]

    @rule(pick=PICKS, prefix=st.sampled_from(["_", "_RESOLVED_"]))
    def read_private(self, pick: int, prefix: str) -> None:
        names = self.shape.stored_names
        self.pair.both(lambda model: getattr(model, prefix + names[pick % len(names)]))

    @rule(pick=PICKS, value=ANYTHING)
    def change_inside(self, pick: int, value: Any) -> None:
        """Change a list where it is."""
        name = self.name(pick)

        def operation(model: Any) -> None:
            inside = getattr(model, name)
            if isinstance(inside, list):
                inside.append(value)

        self.pair.both(operation)

    @rule(pick=PICKS, value=ANYTHING)
    def change_entity(self, pick: int, value: Any) -> None:
        """Change the entity behind the model."""
        names = self.shape.stored_names
        name = names[pick % len(names)]
        if pick % 2:
            self.pair.both(lambda model: model._entity.pop(name, None))
        else:
            self.pair.both(lambda model: model._entity.__setitem__(name, copy.copy(value)))

    @rule(operation=st.sampled_from(sorted(WHOLE)))
    def whole(self, operation: str) -> None:
        self.pair.both(WHOLE[operation])

    @rule(operation=st.sampled_from(ON_VARS))
    def look_at_vars(self, operation: Callable[[Any], Any]) -> None:
        self.pair.both(lambda model: operation(vars(model)))

    @rule()
    def remake(self) -> None:
        """Make models of the entities behind the models."""
        self.pair.both(lambda model: type(model).from_entity(model._entity))


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run(DbTwins)


GOOD = {"required": "r", "number": 1, "checked": "c", "plain": "p"}
BAD: dict[str, dict[str, Any]] = {
    "required": {"required": None},
    "number": {"number": "text"},
    "checked": {"checked": "bad"},
}


def _malformed() -> bytes:
    proto = entity_pb2.EntityProto.FromString(raw_entity("Strict", **GOOD))
    next(entry for entry in proto.property if entry.name == "number").value.stringValue = b"\xff"
    raw: bytes = proto.SerializeToString()
    return raw


CASES = {name: raw_entity("Strict", **{**GOOD, **values}) for name, values in BAD.items()}
CASES["missing"] = raw_entity("Strict", **{**GOOD, "required": []})
CASES["malformed"] = _malformed()
FAILING = {**{name: name for name in BAD}, "missing": "required", "malformed": "number"}


NEEDING_ALL: list[Callable[[Any], Any]] = [
    lambda model: dict(vars(model)),
    db.to_dict,
    pickle.dumps,
    copy.copy,
]
"""Functions that need all values."""


@pytest.mark.parametrize("case", CASES)
def test_the_error_of_making_the_model_is_that_of_reading(case: str) -> None:
    """At every read of that one property, with a note, and of all; the rest can be read."""
    raw, failing = CASES[case], FAILING[case]
    stock = seen(lambda: stock_model(raw))
    assert is_raised(stock)
    model = lazy_model(raw)
    assert is_lazy(model)
    for name, value in GOOD.items():
        if name != failing:
            assert getattr(model, name) == value
    read: Any = operator.attrgetter(failing)
    for use in (read, read, *NEEDING_ALL):
        model = model if use is read else lazy_model(raw)
        assert _without_trace(seen(lambda: use(model))) == _without_trace(stock)  # noqa: B023
    with pytest.raises(datastore_errors.Error) as caught:
        read(lazy_model(raw))
    notes = "".join(caught.value.__notes__)
    assert repr(failing) in notes
    assert "Strict" in notes


def _without_trace(result: Any) -> Any:
    # The text of an error of the API has a traceback in it.
    return (*result[:2], result[2].splitlines()[0])


def test_an_attribute_error_is_not_taken_for_a_missing_attribute() -> None:
    """An AttributeError would tell db that there is no value, and data would be lost."""
    raw = raw_entity("Strict", **{**GOOD, "checked": "worse"})
    assert seen(lambda: stock_model(raw))[1] is AttributeError
    model = lazy_model(raw)
    for read in (lambda: model.checked, lambda: model._checked, lambda: dict(vars(model))):
        with pytest.raises(RuntimeError, match="checked") as caught:
            read()
        assert isinstance(caught.value.__cause__, AttributeError)
