"""A model sends the same as stock; properties that were never read go back as they came."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db

from tests.patches.appengine.db.handmade import raw_entity
from tests.patches.appengine.db.pairs import (
    Pair,
    patched,
    stock_model,
    written,
)
from tests.patches.models.changing import CHANGES, act, writing_and_changing

# By name, a property and a value that db writes as it reads it.
PROPERTIES: dict[str, tuple[Any, Any]] = {
    "string": (db.StringProperty(), "s"),
    "hidden": (db.StringProperty(indexed=False), "h"),
    "text": (db.TextProperty(), db.Text("t")),
    "blob": (db.BlobProperty(), db.Blob(b"b")),
    "integer": (db.IntegerProperty(), 1),
    "boolean": (db.BooleanProperty(), True),
    "real": (db.FloatProperty(), 1.5),
    "moment": (db.DateTimeProperty(), db.datetime.datetime(2020, 1, 2)),
    "link": (db.LinkProperty(), db.Link("http://a.b/c")),
    "empty": (db.StringProperty(), None),
    "strings": (db.StringListProperty(), ["a", "b"]),
}
VALUES = {name: value for name, (_, value) in PROPERTIES.items()}
Everything: Any = type(db.Model)(
    "Everything",
    (db.Model,),
    {
        **{name: prop for name, (prop, _) in PROPERTIES.items()},
        "day": db.DateProperty(),
        "upper": db.ComputedProperty(lambda self: (self.string or "").upper()),
    },
)


def _stored() -> bytes:
    """Serialise a model as db stores it, with an unknown field in each property."""
    model = Everything(key=db.Key.from_path("Everything", 1), **VALUES)
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


def test_properties_that_are_indexed_otherwise_now() -> None:
    """The model's class says which are."""
    proto = entity_pb2.EntityProto.FromString(raw_entity("Everything", **VALUES))
    moved = {"string", "hidden", "text", "blob"}
    fields = proto.property, proto.raw_property
    kept = [[entry for entry in entries if entry.name not in moved] for entries in fields]
    taken = [[entry for entry in entries if entry.name in moved] for entries in fields]
    made = entity_pb2.EntityProto(
        key=proto.key,
        entity_group=proto.entity_group,
        property=[*kept[0], *taken[1]],
        raw_property=[*kept[1], *taken[0]],
    )
    Pair.from_raw(made.SerializeToString()).both(written)


class Hooked(db.StringProperty):
    """A property that runs code when it is written."""

    def get_value_for_datastore(self, model_instance: Any) -> Any:
        act()
        return super().get_value_for_datastore(model_instance)


class ChangingAccount(db.Model):
    balance = db.IntegerProperty()
    hooked = Hooked()
    limit = db.IntegerProperty()
    owner = db.StringProperty()
    tags = db.StringListProperty()


_ACCOUNT = {"balance": 1, "hooked": "h", "limit": 2, "owner": "o", "tags": ["a", "b"]}


_CHANGES: dict[str, Callable[[Any], object]] = {
    **{name: CHANGES[name] for name in ("assigns", "replaces", "changes a list")},
    "reads": lambda one: (one.balance, one.limit, one.owner),
    "changes the entity": lambda one: one._entity.update({"balance": 10, "limit": 20, "new": 1}),
}


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_a_property_changes_the_others(change: Callable[[Any], object]) -> None:
    """The message is that of stock, and so is the model afterwards."""
    pair = Pair.from_raw(raw_entity("ChangingAccount", **_ACCOUNT))
    pair.both(writing_and_changing(written, change))
    pair.agree()
    pair.both(written)
