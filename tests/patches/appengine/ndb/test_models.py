"""A model that is read under the patch is to its user the model that stock ndb makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.appengine.api import datastore_errors
from google.appengine.datastore.entity_bytes_pb2 import EntityProto
from google.appengine.ext import ndb
from hypothesis import strategies as st
from hypothesis.stateful import rule

from lazyentity.packed.appengine import PackedProperty
from tests.patches.appengine.ndb.pairs import (
    Pair,
    fixed_now,
    lazy_model,
    snapshot,
    stock_model,
    written,
)
from tests.patches.appengine.ndb.strategies import (
    changed_entities,
    serialised,
    shop,
    stored_entities,
)
from tests.patches.appengine.services import fresh
from tests.patches.models.cases import ModelCases
from tests.patches.models.changing import CHANGES, act, assign, writing_and_changing
from tests.patches.models.machine import ModelTwins, run
from tests.patches.models.packed import Context, PackedCases, orders
from tests.patches.models.pairs import is_lazy
from tests.patches.models.shapes import Stored
from tests.support.snapshots import Raised


class TestModels(ModelCases):
    pair = Pair
    stored = stored_entities()
    changed = changed_entities()

    @staticmethod
    def is_made_at_once(stored: Stored) -> bool:
        """Say whether the entity has a property that its class lacks."""
        entity = EntityProto.FromString(stored.raw)
        known = stored.shape.model_class._properties
        names = [each.name for each in (*entity.property, *entity.raw_property)]
        return any(name.partition(".")[0] not in known for name in names)


class Twins(ModelTwins):
    ndb = ndb
    kind = Pair
    entities = st.one_of(stored_entities(), changed_entities())

    def __init__(self) -> None:
        super().__init__(fixed_now())

    @staticmethod
    def in_values(name: str) -> bytes:
        """Return a stored name in the form that it has in ``_values``."""
        return name.encode()

    @staticmethod
    def listed(values: Any) -> list[Any]:
        """Return the names in ``_values``."""
        return list(values)

    @rule(set_key=st.booleans())
    def convert(self, set_key: bool) -> None:
        self.pair.both(lambda entity: entity._to_pb(set_key=set_key))


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run(Twins)


class Hooked(ndb.StringProperty):
    """A property that runs code when it is written."""

    def _to_base_type(self, value: Any) -> Any:
        act()
        return super()._to_base_type(value)


class ChangingAccount(ndb.Model):
    balance = ndb.IntegerProperty()
    flag = ndb.BooleanProperty()
    hooked = Hooked()
    limit = ndb.IntegerProperty()
    owner = ndb.StringProperty()
    tags = ndb.StringProperty(repeated=True)
    zone = ndb.FloatProperty()


_VALUES = {"balance": 1, "hooked": "h", "limit": 2, "owner": "o", "tags": ["a", "b"]}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_property_changes_the_others(change: Callable[[Any], object]) -> None:
    """The message is that of stock, and so is the model afterwards."""
    pair = Pair.from_raw(serialised(ChangingAccount(id=1, flag=True, zone=1.5, **_VALUES)))
    sent = pair.both(writing_and_changing(written, change, lambda one: assign(one, hooked="new")))
    assert not isinstance(sent, Raised)
    pair.agree()
    pair.both(written)


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


@pytest.fixture
def context(bed: Any) -> Context:
    """Enters a context of services in memory."""

    @contextmanager
    def entered() -> Iterator[None]:
        made = fresh()
        made.set_cache_policy(lambda _: False)
        made.set_memcache_policy(lambda _: False)
        yield

    return entered


class TestPacked(PackedCases):
    client = "appengine"
    models = orders(ndb, PackedProperty)
    packed_property = PackedProperty
    shows_what_it_puts = True
