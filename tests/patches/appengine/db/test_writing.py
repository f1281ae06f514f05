"""A model sends the same as stock; properties that were never read go back as they came."""

from __future__ import annotations

from typing import Any

import pytest
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db

from tests.patches.appengine.db.handmade import raw_entity
from tests.patches.appengine.db.pairs import Pair, lazy_model, patched, seen, stock_model, written


class Everything(db.Expando):
    """A model whose properties, but for some, are written as they are read."""

    string = db.StringProperty()
    hidden = db.StringProperty(indexed=False)
    text = db.TextProperty()
    blob = db.BlobProperty()
    integer = db.IntegerProperty()
    boolean = db.BooleanProperty()
    real = db.FloatProperty()
    moment = db.DateTimeProperty()
    link = db.LinkProperty()
    empty = db.StringProperty()
    strings = db.StringListProperty()
    day = db.DateProperty()
    upper = db.ComputedProperty(lambda self: (self.string or "").upper())


VALUES: dict[str, Any] = {
    "string": "s",
    "hidden": "h",
    "text": db.Text("t"),
    "blob": db.Blob(b"b"),
    "integer": 1,
    "boolean": True,
    "real": 1.5,
    "moment": db.datetime.datetime(2020, 1, 2),
    "link": db.Link("http://a.b/c"),
    "empty": None,
    "strings": ["a", "b"],
    "dynamic": "d",
    "dynamics": [1, 2],
}


def _stored(**changes: Any) -> bytes:
    """Serialise a model as db stores it, with an unknown field in each property."""
    model = Everything(key=db.Key.from_path("Everything", 1), **{**VALUES, **changes})
    proto = model._populate_internal_entity()._ToPb()
    for entry in (*proto.property, *proto.raw_property):
        entry.MergeFromString(b"\xa0\x06\x07")
    raw: bytes = proto.SerializeToString()
    return raw


def _marked(raw: bytes) -> set[str]:
    """Return the names of the properties that have the unknown field."""
    proto = entity_pb2.EntityProto.FromString(raw)
    return {
        entry.name
        for entry in (*proto.property, *proto.raw_property)
        if entry.SerializeToString().endswith(b"\xa0\x06\x07")
    }


def test_unread_properties_go_back_as_they_came() -> None:
    """Also the parts that db does not know."""
    raw = _stored()
    assert _marked(raw) > VALUES.keys()
    with patched():
        model = db.model_from_protobuf(raw)
        model.integer = 2
        sent = written(model)
    # The computed property reads one.
    assert _marked(sent) == VALUES.keys() - {"integer", "string"}
    assert _marked(written(stock_model(raw))) == set()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("string", db.Text("t")),
        ("text", "s"),
        ("integer", db.Rating(5)),
        ("strings", "one"),
        ("link", "http://a.b/c"),
    ],
)
def test_a_value_that_db_writes_in_another_form(name: str, value: Any) -> None:
    """It is read and written as db does it."""
    raw = raw_entity("Everything", **{**VALUES, name: value})
    if seen(lambda: stock_model(raw))[0] == "raised":
        assert not _is_sent(raw, name)
        return
    Pair.of(raw).both(written)


def _is_sent(raw: bytes, name: str) -> bool:
    model = lazy_model(raw)
    with patched():
        result = seen(lambda: written(model))
    return bool(result[0] != "raised")


def test_properties_that_are_indexed_otherwise_now() -> None:
    """The model's class says which are."""
    proto = entity_pb2.EntityProto.FromString(raw_entity("Everything", **VALUES))
    for entry in list(proto.property):
        if entry.name in ("string", "hidden", "dynamic"):
            proto.property.remove(entry)
            proto.raw_property.append(entry)
    for entry in list(proto.raw_property):
        if entry.name in ("text", "blob"):
            proto.raw_property.remove(entry)
            proto.property.append(entry)
    Pair.of(proto.SerializeToString()).both(written)


def test_a_computed_property_that_assigns_another() -> None:
    """The value that it assigns is sent, if db comes to it later."""

    class Assigning(db.Model):
        a = db.StringProperty()
        b = db.ComputedProperty(lambda self: _assign(self))
        c = db.StringProperty()

    Pair.of(raw_entity("Assigning", a="a", c="c")).both(written)


def _assign(model: Any) -> str:
    model.a = model.c = "new"
    return "computed"
