"""The functions of lazyentity on App Engine's entities."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from google.appengine.api import datastore, datastore_types
from hypothesis import given

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine import conversion  # noqa: F401  # registers the operations
from tests.patches.appengine.sides import alone, described, lazy, outcome, stock
from tests.patches.appengine.strategies import EntityProto, Property, Value, entity_protos
from tests.patches.appengine.test_entities import entity_proto


@pytest.fixture
def message() -> Any:
    """An entity of a number, a list and a text."""
    return entity_proto(
        Property(name="a", multiple=False, value=Value(int64Value=7)),
        Property(name="b", multiple=True, value=Value(stringValue=b"x")),
        raw=[
            Property(name="t", multiple=False, meaning=Property.TEXT, value=Value(stringValue=b"y"))
        ],
    )


def test_raw(index_type: Any, message: Any) -> None:
    entity = lazy(message, index_type)
    assert lazyentity.raw(entity) == message.SerializeToString()
    entity["a"] = 8
    changed = EntityProto.FromString(lazyentity.raw(entity))
    assert changed.property[0].value.int64Value == 8
    assert alone(changed, "t") == alone(message, "t")
    assert lazyentity.raw(stock(message)) == stock(message).ToPb().SerializeToString()


def test_decoded_and_prefetch(index_type: Any, message: Any) -> None:
    entity = lazy(message, index_type)
    assert lazyentity.decoded(entity) == ()
    with pytest.raises(KeyError):
        lazyentity.prefetch(entity, "a", "missing")
    lazyentity.prefetch(entity, "t", "a")
    assert lazyentity.decoded(entity) == ("a", "t")
    assert lazyentity.decoded(stock(message)) == ("a", "b", "t")


@pytest.mark.parametrize(
    ("form", "read"),
    [
        ("key", lambda key: key),
        ("id", lambda key: key.id_or_name()),
        ("path", lambda key: tuple(key.to_path())),
    ],
)
def test_columns_of_keys(index_type: Any, message: Any, form: Any, read: Any) -> None:
    entities: Any = [lazy(message, index_type), stock(message)]
    made = lazyentity.columns(entities, ["a"], key="key", key_as=form)
    assert made == {"key": [read(stock(message).key())] * 2, "a": [7, 7]}
    with pytest.raises(KeyError, match="has no property 'amuont'"):
        lazyentity.columns(entities, ["amuont"], missing="raise")


@given(message=entity_protos())
def test_materialize(index_type: Any, message: Any) -> None:
    if type(outcome(lambda: stock(message))[0]) is not list:
        return
    entity = lazy(message, index_type)
    plain = lazyentity.materialize(entity)
    assert type(plain) is datastore.Entity
    assert described(plain) == described(stock(message))
    assert lazyentity.decoded(entity) == ()
    assert lazyentity.materialize(plain) is plain


def test_to_dict(index_type: Any, message: Any) -> None:
    entity = lazy(message, index_type)
    assert entity["b"] == ["x"]
    plain = lazyentity.to_dict(entity)
    assert type(plain) is dict
    assert plain == dict(stock(message))
    assert plain["b"] is not entity["b"]
    assert lazyentity.to_dict(entity, "t") == {"t": "y"}
    assert lazyentity.decoded(entity) == ("b",)
    assert lazyentity.to_dict(stock(message)) == plain
    with pytest.raises(KeyError):
        lazyentity.to_dict(entity, "missing")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: one])
def test_detach(index_type: Any, message: Any, duplicate: Any) -> None:
    entity = lazy(message, index_type)
    entity["a"], entity["b"]
    detached: Any
    whole: Any
    (detached,) = lazyentity.detach([entity])
    assert dict(detached) == {"a": 7, "b": ["x"]}
    assert detached.key() == entity.key()
    assert detached["b"] is not entity["b"]
    with pytest.raises(RuntimeError, match="partial=True"):
        duplicate(detached).ToPb()
    stock_copy: Any = lazyentity.materialize(detached)
    with pytest.raises(RuntimeError, match="partial=True"):
        stock_copy.ToPb()
    with pytest.raises(RuntimeError, match="partial=True"):
        pickle.loads(pickle.dumps(detached)).ToPb()
    (written,) = lazyentity.detach([entity], partial=True)
    assert {each.name for each in duplicate(written).ToPb().property} == {"a", "b"}
    entity["t"]
    (whole,) = lazyentity.detach([entity])
    assert whole.ToPb() == stock(message).ToPb()
    (same,) = lazyentity.detach([plain := stock(message)])
    assert same is plain
    with pytest.raises(TypeError, match="iterable"):
        lazyentity.detach(entity)


def test_a_projection_stays_one(index_type: Any) -> None:
    """Detached without its properties, too: it must not be written. Its message has no meaning."""
    message = entity_proto(
        Property(name="a", multiple=False, meaning=Property.INDEX_VALUE, value=Value(int64Value=7))
    )
    entity = lazy(message, index_type)
    assert lazy(message, index_type).ToPb() == stock(message).ToPb()
    for partial in (True, False):
        (detached,) = lazyentity.detach([entity], partial=partial)
        assert len(detached) == 0
        assert detached.is_projection()
    assert lazyentity.materialize(entity).is_projection()  # type: ignore[attr-defined]  # its class's


def test_wrap_refuses() -> None:
    with pytest.raises(TypeError, match=r"not google\.appengine\.api\.datastore\.Query"):
        lazyentity.wrap(datastore.Query("Kind", _app="app"))


def test_the_sentinel_is_not_data(index_type: Any, message: Any) -> None:
    entity = lazy(message, index_type)
    with pytest.raises(datastore.datastore_errors.BadValueError):
        entity["z"] = dict.__getitem__(entity, "a")
    dict.__setitem__(entity, "z", UNDECODED)
    for act in (lambda: entity["z"], entity.ToPb, lambda: lazyentity.to_dict(entity)):
        with pytest.raises(TypeError, match="materialize"):
            act()
    assert isinstance(entity.key(), datastore_types.Key)
