"""Classes that have a part in making their models, and classes that change."""

from __future__ import annotations

import itertools
from typing import Any
from unittest import mock

import pytest
from google.appengine.ext import db

from tests.patches.appengine.db.handmade import CLASSES, Cat, raw_entity
from tests.patches.appengine.db.pairs import (
    Pair,
    is_lazy,
    is_raised,
    lazy_model,
    made_alike,
    patched,
    seen,
    snapshot,
    stock_model,
)
from tests.support.concurrency import switching_often, together


@pytest.mark.parametrize("kind", CLASSES.values(), ids=CLASSES)
def test_made_by_db(kind: Any) -> None:
    """A class whose methods have a part in making models has them made by db."""
    values = dict.fromkeys(("name", "app", "key", "key_name", "parent", "self"), "n")
    raw = raw_entity(kind.kind(), **values)
    assert is_raised(made_alike(raw)) or not is_lazy(lazy_model(raw))


class Loose(db.Expando):
    """A class with attributes that entities may have properties of the same name of."""

    name = db.StringProperty()
    constant = "of the class"

    def _get(self) -> Any:
        return ["got", vars(self).get("_virtual")]

    def _set(self, value: Any) -> None:
        self._virtual = value

    virtual = property(_get, _set)
    fixed = property(_get)

    def method(self) -> str:
        """Do nothing."""
        return "of the class"


@pytest.mark.parametrize(
    "name",
    [
        *("constant", "method", "virtual", "fixed", "_hidden", "_name", "_entity", "_app"),
        *("self", "key", "key_name", "parent", "put", "kind", "__dict__", "other"),
    ],
)
def test_dynamic_properties_of_any_name(name: str) -> None:
    """Those that db sets as attributes, or refuses, are treated as in stock."""
    raw = raw_entity("Loose", **{"name": "n", name: "value"})
    if not is_raised(made_alike(raw)):
        pair = Pair.from_raw(raw)
        pair.both(lambda model: getattr(model, name))
        pair.both(lambda model: sorted(model.dynamic_properties()))
        pair.agree()


@pytest.mark.parametrize("is_there", [False, True])
def test_defaults_that_depend_on_the_time(is_there: bool) -> None:
    """They are computed when the model is made."""

    class Counted(db.StringProperty):
        def default_value(self) -> Any:
            return f"default {next(numbers)}"

    class Timed(db.Model):
        counted = Counted()
        added = db.DateTimeProperty(auto_now_add=True)

    numbers = itertools.count()
    model = lazy_model(raw_entity("Timed", **({"counted": "c"} if is_there else {})))
    moment = db.DateTimeProperty.now()
    with mock.patch.object(db.DateTimeProperty, "now", staticmethod(lambda: None)):
        next(numbers)
        assert model.added == moment
        assert model.counted == ("c" if is_there else "default 0")


def test_patch_and_unpatch() -> None:
    """The methods that lazy models need stay, and do what stock's do for all others."""
    raw, model = raw_entity("Animal", legs=4), Cat(legs=3)

    def read() -> Any:
        return seen(lambda: model.unknown), seen(lambda: model._unknown), snapshot(Cat(legs=3))[1]

    before = read()
    assert "Model' object" not in before[0][2]
    with patched():
        lazy = db.model_from_protobuf(raw)
        assert read() == before
    assert read() == before
    assert is_lazy(lazy)
    assert not is_lazy(db.model_from_protobuf(raw))
    assert snapshot(lazy) == snapshot(stock_model(raw))


class Tagged(db.Model):
    """A model with a value that is not the same object if it is made twice."""

    tags = db.StringListProperty()


def test_threads() -> None:
    """All threads get the same object, and one that was assigned meanwhile stays."""
    for _ in range(20):
        model = lazy_model(raw_entity("Tagged", tags=["a", "b"]))
        with switching_often():
            read = together(4, lambda _: model.tags)  # noqa: B023
        assert {id(tags) for tags in read} == {id(model.tags)}
