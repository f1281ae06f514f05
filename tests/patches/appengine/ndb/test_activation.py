"""Patching ndb, whenever it is imported, and whatever stands in place of its functions."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from google.appengine.api import datastore_errors
from google.appengine.datastore.entity_bytes_pb2 import EntityProto
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model, polymodel

import lazyentity
from lazyentity.patches.appengine.lasting import LastingSeam
from lazyentity.patches.appengine.ndb.seams import PART
from tests.patches.appengine.ndb.handmade import Cat, Everything, everything
from tests.patches.appengine.ndb.pairs import converted, lazy_model, patched, stock_model
from tests.patches.appengine.ndb.snapshots import snapshot
from tests.patches.appengine.ndb.strategies import serialised
from tests.patches.models.pairs import is_lazy
from tests.support.subprocesses import answer

_PROGRAM = """
import json, os, warnings
warnings.simplefilter("ignore")
os.environ.update(APPLICATION_ID="lazy-app", GAE_APPLICATION="lazy-app")
import lazyentity
"""

_READ = """
from google.appengine.ext import ndb
class Kind(ndb.Model):
    a = ndb.StringProperty()
made = Kind._from_pb(Kind(id=1, a="text")._to_pb())
print(json.dumps([type(made._values).__name__, made.a]))
"""


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("import lazyentity.auto", "LazyValues"),
        ("from google.appengine.ext import ndb\nimport lazyentity.auto", "LazyValues"),
        ("from google.appengine.api import datastore\nimport lazyentity.auto", "LazyValues"),
        ("lazyentity.patch('appengine'); lazyentity.unpatch()", "dict"),
    ],
)
def test_orders(before: str, expected: str) -> None:
    assert answer("-c", _PROGRAM + before + _READ, warnings="ignore") == [expected, "text"]


def test_is_taken_back() -> None:
    """Every function is the one that was there, and a lazy model goes on being read.

    One attribute stays, for futures that exist: see test_debugging.py.
    """
    seams = [seam for seam in PART.seams if type(seam) is not LastingSeam]
    assert {seam.path for seam in PART.seams} - {seam.path for seam in seams} == {"Future._info"}
    before = [seam.resolve() for seam in seams]
    raw = serialised(everything())
    lazyentity.patch("appengine", strict=True)
    assert not any(seam.resolve() is original for seam, original in zip(seams, before, strict=True))
    lazy = converted(raw)
    lazyentity.unpatch("appengine")
    assert [seam.resolve() for seam in seams] == before
    assert is_lazy(lazy)
    assert snapshot(lazy) == snapshot(stock_model(raw))


def test_the_kill_switch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    lazyentity.patch("appengine")
    assert not is_lazy(converted(serialised(everything())))


def test_eager_mode() -> None:
    """Of the process, and inside eager()."""
    raw = serialised(everything())
    lazyentity.patch("appengine", strict=True, eager=True)
    try:
        assert not is_lazy(converted(raw))
        lazyentity.patch("appengine", strict=True)
        assert is_lazy(converted(raw))
        with lazyentity.eager():
            assert not is_lazy(converted(raw))
    finally:
        lazyentity.unpatch("appengine")


@pytest.mark.parametrize(
    "function",
    [
        lazyentity.raw,
        lazyentity.materialize,
        lazyentity.decoded,
        lazyentity.prefetch,
        lazyentity.to_dict,
        lambda entity: lazyentity.detach([entity]),
        lazyentity.wrap,
    ],
)
def test_functions_on_entities_refuse_models(function: Any) -> None:
    """And leave them unread."""
    made = lazy_model(serialised(everything()))
    with pytest.raises(TypeError, match="Everything"):
        function(made)
    assert list(made._values) == made._values._undecoded()


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
