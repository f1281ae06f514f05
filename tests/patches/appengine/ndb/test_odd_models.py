"""Models of classes and values that are unusual, and the errors of values that cannot be read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore_errors
from google.appengine.datastore.entity_bytes_pb2 import EntityProto, Property
from google.appengine.ext import ndb

from tests.patches.appengine.ndb.pairs import lazy_model, snapshot, stock_model
from tests.patches.appengine.ndb.strategies import serialised, shop
from tests.patches.appengine.services import lazily
from tests.patches.models.pairs import is_lazy
from tests.support.snapshots import Raised, outcome


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
    entity.MergeFromString(serialised(shop()))
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
        assert "Shop" in note
    assert lazy.text == "Grüße"


class Inner(ndb.Model):
    document = ndb.JsonProperty()
    name = ndb.StringProperty()


class Outer(ndb.Model):
    document = ndb.JsonProperty()
    name = ndb.StringProperty("n")
    inner = ndb.LocalStructuredProperty(Inner)
    inners = ndb.LocalStructuredProperty(Inner, repeated=True)
    with_keys = ndb.LocalStructuredProperty(Inner, keep_keys=True)


MALFORMED = b"{not JSON"


def _replace(message: Any, name: str, contents: bytes, **options: Any) -> None:
    kept = [each for each in message.raw_property if each.name != name]
    del message.raw_property[:]
    message.raw_property.extend(kept)
    added = message.raw_property.add(name=name, **{"multiple": False, **options})
    added.value.stringValue = contents


def _broken(made: Any) -> bytes:
    """Serialise a model, with a document that is not JSON."""
    message = made._to_pb()
    _replace(message, "document", MALFORMED)
    raw: bytes = message.SerializePartialToString()
    return raw


def _outer() -> bytes:
    """Serialise a model with such a document, and such models inside."""
    message = Outer(id=5, name="outer")._to_pb()
    _replace(message, "document", MALFORMED)
    inner = _broken(Inner(name="inner"))
    encoded = Property.ENTITY_PROTO
    _replace(message, "inner", inner, meaning=encoded)
    _replace(message, "inners", inner, meaning=encoded, multiple=True)
    _replace(message, "with_keys", _broken(Inner(id="k", name="inner")), meaning=encoded)
    raw: bytes = message.SerializeToString()
    return raw


READS: dict[str, Callable[[Any], Any]] = {
    "document": lambda outer: outer.document,
    "inner": lambda outer: outer.inner.document,
    "inners": lambda outer: outer.inners[0].document,
    "with_keys": lambda outer: outer.with_keys.document,
}


@pytest.mark.parametrize("read", READS)
def test_models_inside_of_models(read: str) -> None:
    """An inner model may have a key."""
    raw = _outer()
    stock, lazy = stock_model(raw), lazy_model(raw)
    expected = outcome(READS[read], stock)
    assert isinstance(expected, Raised)
    assert expected.kind is json.JSONDecodeError
    assert is_lazy(lazy)
    for _ in range(2):
        with lazily():
            assert outcome(READS[read], lazy) == expected
            with pytest.raises(json.JSONDecodeError) as caught:
                READS[read](lazy)
    (note,) = caught.value.__notes__
    owner = {
        "document": "the entity Key('Outer', 5)",
        "with_keys": "the entity Key('Inner', 'k')",
    }.get(read, "an entity without a key")
    assert note == f"while decoding property 'document' of {owner}"
