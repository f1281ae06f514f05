"""A model that is read under the patch is to its user the model that stock db makes."""

from __future__ import annotations

import copy
import functools
import operator
import pickle
import pickletools
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.ext import db
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.patches.appengine.db.handmade import raw_entity
from tests.patches.appengine.db.model_strategies import ENTITIES, stored_entities
from tests.patches.appengine.db.pairs import (
    Pair,
    is_lazy,
    lazy_model,
    seen,
    snapshot,
    stock_model,
    written,
)
from tests.patches.models.shapes import Stored

COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "oldest pickle": lambda model: pickle.loads(pickle.dumps(model, 2)),
}
FEWER = settings(max_examples=settings().max_examples // 2, derandomize=True)


def pair_of(stored: Stored) -> Pair:
    """Make the two models of an entity; another example is tried if stock db refuses to."""
    stock = seen(lambda: stock_model(stored.raw))
    assume(stock[0] != "raised")
    return Pair.of(stored.raw)


@FEWER
@given(stored=stored_entities())
def test_what_db_stored(stored: Stored) -> None:
    """All of the model is the same, read at once."""
    pair_of(stored).agree()


@FEWER
@given(stored=ENTITIES, data=st.data())
def test_attributes_in_any_order(stored: Stored, data: st.DataObject) -> None:
    """Each has the value that it has in stock, the second time, too."""
    pair = pair_of(stored)
    names = [*stored.shape.names, "dynamic", "_entity", "_key", "unknown", "_unknown"]
    for name in data.draw(st.permutations(names)):
        pair.both(operator.attrgetter(name))
        pair.both(lambda model: getattr(model, name) is getattr(model, name))  # noqa: B023
    pair.agree()


@FEWER
@given(stored=ENTITIES, data=st.data())
def test_private_attributes(stored: Stored, data: st.DataObject) -> None:
    """The attributes that hold the values can be read themselves."""
    pair = pair_of(stored)
    names = [
        f"{prefix}_{name}" for name in stored.shape.stored_names for prefix in ("", "_RESOLVED")
    ]
    for name in data.draw(st.permutations(names)):
        pair.both(operator.attrgetter(name))
    pair.agree()


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


@FEWER
@given(stored=ENTITIES, operation=st.sampled_from(ON_VARS))
def test_vars(stored: Stored, operation: Callable[[Any], Any]) -> None:
    """``__dict__`` gives what stock's gives, with any operation first."""
    pair = pair_of(stored)
    pair.both(lambda model: operation(vars(model)))
    pair.both(lambda model: dict(vars(model)))


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


@FEWER
@given(stored=ENTITIES, operations=st.permutations(list(WHOLE)))
def test_the_whole(stored: Stored, operations: list[str]) -> None:
    pair = pair_of(stored)
    for name in operations:
        pair.both(WHOLE[name])
    pair.agree()


@pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES.keys())
@settings(max_examples=settings().max_examples // 5, derandomize=True)
@given(stored=ENTITIES, data=st.data())
def test_copies(duplicate: Callable[[Any], Any], stored: Stored, data: st.DataObject) -> None:
    """Copies are stock's, and as independent of the original."""
    pair = pair_of(stored)
    for name in data.draw(st.lists(st.sampled_from(stored.shape.names), max_size=2)):
        pair.both(operator.attrgetter(name))
    copies = pair.twins(duplicate)
    assert copies is not None
    first = data.draw(st.sampled_from([pair, copies]))
    for name in stored.shape.names[:2]:
        value = data.draw(stored.shape.values.get(name, st.none()))
        first.both(lambda model: setattr(model, name, copy.copy(value)))  # noqa: B023
    pair.agree()
    copies.agree()


@given(stored=stored_entities())
@settings(max_examples=20, derandomize=True)
def test_pickles_need_nothing_of_ours(stored: Stored) -> None:
    """Pickles can be loaded without lazyentity."""
    dumped = pickle.dumps(pair_of(stored).lazy, 2)
    names = [argument for _, argument, _ in pickletools.genops(dumped)]
    assert not any("lazyentity" in name for name in names if isinstance(name, str))


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
    model = pair_of(stored).lazy
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
