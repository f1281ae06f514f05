"""Classes that have a part in making their models, and classes that change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.ext import db

from tests.patches.appengine.db.handmade import (
    AT_ONCE,
    CLASSES,
    Animal,
    Cat,
    raw_entity,
)
from tests.patches.appengine.db.pairs import (
    Pair,
    is_lazy,
    lazy_model,
    patched,
    seen,
    snapshot,
    stock_model,
)


@pytest.mark.parametrize("make", CLASSES.values(), ids=CLASSES.keys())
def test_made_by_db(make: Callable[[], Any]) -> None:
    """A class whose methods have a part in making models has them made by db."""
    kind = make()
    raw = raw_entity(kind.kind(), name="n", app="a")
    assert seen(lambda: lazy_model(raw)) == seen(lambda: stock_model(raw))
    if seen(lambda: stock_model(raw))[0] != "raised":
        assert not is_lazy(lazy_model(raw))


@pytest.mark.parametrize("make", AT_ONCE.values(), ids=AT_ONCE.keys())
def test_loaded_at_once(make: Callable[[], Any]) -> None:
    """The value hides what the class has under the name of the attribute."""
    raw = raw_entity(make().kind(), name="n")
    pair = Pair.of(raw)
    assert is_lazy(pair.lazy)
    pair.both(lambda model: model._name)
    pair.agree()


def test_a_class_that_changes() -> None:
    """Methods and properties that a class gets later count for models made from then on."""

    class Changing(db.Model):
        name = db.StringProperty()

    raw = raw_entity("Changing", name="n", other="o")
    assert is_lazy(lazy_model(raw))
    Changing._properties["other"] = other = db.StringProperty(name="other")
    Changing.other = other
    Pair.of(raw).both(lambda model: model.other)
    Changing._name = "of the class"
    Pair.of(raw).both(lambda model: model._name)
    changing: Any = Changing
    changing.__init__ = lambda *args, **kwds: db.Model.__init__(*args, **kwds)
    assert not is_lazy(lazy_model(raw))
    Pair.of(raw).agree()


@pytest.mark.parametrize("key", [["Animal"], ["Animal", "Cat"], ["Animal", "Dog"], [], None])
@pytest.mark.parametrize("asked", [Animal, Cat, None])
def test_hierarchies(key: Any, asked: Any) -> None:
    """The class is the one that the entity names."""
    values = {"legs": 4, "name": "n"} if key is None else {"class": key, "legs": 4, "name": "n"}
    raw = raw_entity("Animal", **values)
    make = db.model_from_protobuf if asked is None else lambda pb: _from_entity(asked, pb)
    stock = seen(lambda: make(raw))
    with patched():
        lazy = seen(lambda: make(raw))
    assert lazy == stock


def _from_entity(kind: Any, raw: bytes) -> Any:
    return kind.from_entity(db.datastore.Entity.FromPb(raw))


@pytest.mark.parametrize("kind", ["Animal", "Unknown"])
def test_other_kinds(kind: str) -> None:
    """An entity of another kind is refused as in stock."""

    class Known(db.Model):
        name = db.StringProperty()

    raw = raw_entity(kind, name="n")
    stock = seen(lambda: _from_entity(Known, raw))
    with patched():
        assert seen(lambda: _from_entity(Known, raw)) == stock


def test_the_methods_of_a_model_without_the_patch() -> None:
    """A model that is not lazy raises stock's errors for attributes that it has not."""
    model = Cat(legs=3)
    before = seen(lambda: model.unknown), seen(lambda: model._unknown)
    with patched():
        assert (seen(lambda: model.unknown), seen(lambda: model._unknown)) == before
        assert snapshot(Cat(legs=3))[1] == snapshot(model)[1]
    assert "Model' object" not in before[0][2]


def test_an_attribute_error_of_a_getter() -> None:
    """A property of Python's that fails with an AttributeError raises it."""

    class Failing(db.Model):
        @property
        def computed(self) -> Any:
            raise AttributeError("inside")

    Pair.of(raw_entity("Failing", name="n")).both(lambda model: model.computed)
