"""Lazy entities of ``api.datastore`` against the client's, and lazyentity's functions on them."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from operator import getitem
from typing import Any

import pytest
from google.appengine.api import datastore_errors, datastore_types
from hypothesis import given

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine import conversion  # noqa: F401  # registers the operations
from tests.patches.appengine.messages import (
    EntityProto,
    Property,
    alone,
    entity_proto,
    lazy,
    malformed,
    outcome,
    prop,
    stock,
)


@pytest.fixture
def message() -> Any:
    """An entity of a number, a list and a text."""
    return entity_proto(
        prop("a", int64Value=7),
        prop("b", multiple=True, stringValue=b"x"),
        raw=[prop("t", Property.TEXT, stringValue=b"y")],
    )


@given(message=malformed)
def test_a_property_that_cannot_be_read_leaves_the_others_readable(message: Any) -> None:
    entity = lazy(message)
    for name in list(entity or ()):
        expected = outcome(lambda name=name: stock(alone(message, name))[name])
        # Again, which a failure must not change.
        for _ in range(2):
            assert outcome(partial(getitem, entity, name)) == expected


def _pickled(protocol: int, entity: Any) -> Any:
    return pickle.loads(pickle.dumps(entity, protocol))


def test_errors_name_key_and_property() -> None:
    bad = prop("bad", Property.GD_WHEN, stringValue=b"x")
    entity = lazy(entity_proto(bad, prop("good", int64Value=7)))
    with pytest.raises(datastore_errors.Error, match=r"corrupt|converting") as caught:
        entity["bad"]
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "'bad'" in told
    assert "Kind" in told
    assert entity["good"] == 7
    with pytest.raises(datastore_errors.Error):
        entity.items()


def test_raw(message: Any) -> None:
    entity = lazy(message)
    assert lazyentity.raw(entity) == message.SerializeToString()
    entity["a"] = 8
    changed = EntityProto.FromString(lazyentity.raw(entity))
    assert changed.property[0].value.int64Value == 8
    assert alone(changed, "t") == alone(message, "t")
    assert lazyentity.raw(stock(message)) == stock(message).ToPb().SerializeToString()


def test_decoded_and_prefetch(message: Any) -> None:
    entity, plain = lazy(message), stock(message)
    assert lazyentity.decoded(entity) == ()
    with pytest.raises(KeyError):
        lazyentity.prefetch(entity, "a", "missing")
    lazyentity.prefetch(entity, "t", "a")
    assert lazyentity.decoded(entity) == ("a", "t")
    assert dict.__getitem__(entity, "b") is UNDECODED
    assert entity["b"] is entity["b"]
    assert lazyentity.decoded(plain) == ("a", "b", "t")
    assert lazyentity.materialize(plain) is plain


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda one: one])
def test_detach(message: Any, duplicate: Any) -> None:
    """No copy of a detached entity is written either, unless it may lack properties."""
    entity = lazy(message)
    entity["b"]
    detached: Any
    (detached,) = lazyentity.detach([entity])
    assert detached["b"] is not entity["b"]
    stock_copy: Any = lazyentity.materialize(detached)
    for copied in (duplicate(detached), stock_copy, _pickled(pickle.HIGHEST_PROTOCOL, detached)):
        with pytest.raises(RuntimeError, match="partial=True"):
            copied.ToPb()
    (written,) = lazyentity.detach([entity], partial=True)
    assert {each.name for each in duplicate(written).ToPb().property} == {"b"}


def test_a_projection_stays_one() -> None:
    """Detached without its properties, too: it must not be written. Its message has no meaning."""
    message = entity_proto(prop("a", Property.INDEX_VALUE, int64Value=7))
    entity = lazy(message)
    assert lazy(message).ToPb() == stock(message).ToPb()
    for is_partial in (True, False):
        (detached,) = lazyentity.detach([entity], partial=is_partial)
        assert len(detached) == 0
        assert detached.is_projection()
    assert lazyentity.materialize(entity).is_projection()  # type: ignore[attr-defined]  # its class's


def test_the_sentinel_is_not_data(message: Any) -> None:
    entity = lazy(message)
    with pytest.raises(datastore_errors.BadValueError):
        entity["z"] = dict.__getitem__(entity, "a")
    dict.__setitem__(entity, "z", UNDECODED)
    for act in (lambda: entity["z"], entity.ToPb, lambda: lazyentity.to_dict(entity)):
        with pytest.raises(TypeError, match="materialize"):
            act()
    assert isinstance(entity.key(), datastore_types.Key)
