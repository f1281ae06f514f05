"""Patching ndb, whenever it is imported, and whatever stands in place of its functions."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from google.appengine.api import datastore_errors
from google.appengine.datastore.entity_bytes_pb2 import EntityProto
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model, polymodel

from tests.patches.appengine.ndb.handmade import Cat, Everything, everything
from tests.patches.appengine.ndb.pairs import converted, lazy_model, patched, stock_model
from tests.patches.appengine.ndb.snapshots import snapshot
from tests.patches.appengine.ndb.strategies import serialised
from tests.patches.models.pairs import is_lazy


@pytest.mark.parametrize("holder", [model.Model, polymodel.PolyModel])
def test_a_conversion_replaced_before_stays_in_charge(
    holder: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    @functools.wraps(holder._from_pb.__func__)
    def theirs(cls: Any, pb: Any, set_key: Any = True, ent: Any = None, key: Any = None) -> Any:
        return "theirs"

    monkeypatch.setattr(holder, "_from_pb", classmethod(theirs))
    with patched():
        assert converted(serialised(Cat(id=1, legs=4))) == "theirs"


def test_a_class_with_a_conversion_of_its_own() -> None:
    """It gets the lazy model from ndb's conversion, which it calls."""
    seen = []

    class Own(ndb.Model):
        a = ndb.StringProperty()

        @classmethod
        def _from_pb(cls, *args: Any, **kwargs: Any) -> Any:
            made = super()._from_pb(*args, **kwargs)
            seen.append(is_lazy(made))
            return made

    with patched():
        assert converted(serialised(Own(id=1, a="text"))).a == "text"
    assert seen == [True]


def test_a_property_that_receives_values_in_its_own_way() -> None:
    """Its models are made by ndb."""

    class Counting(ndb.IntegerProperty):
        def _deserialize(self, entity: Any, p: Any, unused_depth: int = 1) -> None:
            super()._deserialize(entity, p, unused_depth)
            entity._count = 1 + getattr(entity, "_count", 0)

    class Counted(ndb.Model):
        a = Counting()

    made = lazy_model(serialised(Counted(id=1, a=5)))
    assert (made.a, made._count, is_lazy(made)) == (5, 1, False)


def test_a_constructor_that_sets_values() -> None:
    """The entity is added to them, as by ndb."""

    class Prepared(ndb.Model):
        tags = ndb.StringProperty(repeated=True)
        other = ndb.StringProperty()

        def __init__(self, **values: Any) -> None:
            super().__init__(**values)
            self.tags = ["always"]

    entity = EntityProto()
    entity.MergeFromString(serialised(Prepared(id=1, other="o")))
    del entity.property[1:]
    for raw in (serialised(Prepared(id=1, other="o")), entity.SerializeToString()):
        stock, lazy = stock_model(raw), lazy_model(raw)
        assert snapshot(lazy) == snapshot(stock)


def test_a_value_that_ndb_refuses() -> None:
    """It raises when it is read, naming the entity and the property; the others can be read."""
    entity = EntityProto()
    entity.MergeFromString(serialised(everything()))
    for each in entity.property:
        if each.name == "place":
            each.value.pointvalue.x = 999
    raw = entity.SerializeToString()
    with pytest.raises(datastore_errors.BadValueError) as expected:
        stock_model(raw)
    lazy = lazy_model(raw)
    for _ in range(2):
        with pytest.raises(datastore_errors.BadValueError) as caught:
            _ = lazy.place
        assert str(caught.value) == str(expected.value)
        (note,) = caught.value.__notes__
        assert "'place'" in note
        assert "Everything" in note
    assert lazy.text == "Grüße"


def test_contents_that_cannot_be_converted() -> None:
    """They are converted when they are read, by ndb too; here the error has a note as well."""

    class Document(ndb.Model):
        contents = ndb.JsonProperty()

    entity = EntityProto()
    entity.MergeFromString(serialised(Document(id=1, contents=[])))
    entity.raw_property[0].value.stringValue = b"{"
    raw = entity.SerializeToString()
    stock, lazy = stock_model(raw), lazy_model(raw)
    with pytest.raises(ValueError, match="line 1") as expected:
        _ = stock.contents
    for _ in range(2):
        with patched(), pytest.raises(ValueError, match="line 1") as caught:
            _ = lazy.contents
        assert (type(caught.value), str(caught.value)) == (expected.type, str(expected.value))
        (note,) = caught.value.__notes__
        assert "'contents'" in note
        assert "Document" in note


def test_a_class_that_changes_later() -> None:
    """Models are made as the class is then."""
    raw = serialised(Everything(id=1, string="a"))
    assert "added" not in lazy_model(raw)._properties

    class Everything2(ndb.Model):
        string = ndb.StringProperty()

        @classmethod
        def _get_kind(cls) -> str:
            return "Everything"

    try:
        assert type(lazy_model(raw)) is Everything2
        Everything2.integer = ndb.StringProperty("i")
        Everything2._fix_up_properties()
        stock, lazy = stock_model(raw), lazy_model(raw)
        assert snapshot(lazy) == snapshot(stock)
        assert lazy._properties["i"] is Everything2.integer
    finally:
        Everything._fix_up_properties()
