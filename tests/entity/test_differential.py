"""A lazy entity is to its user the entity that the stock client makes of the same bytes."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from hypothesis import given, strategies as st

import lazyentity
from lazyentity import LazyEntity
from tests.fuzz.sequences import RAW, Case, cases, compare, lazily
from tests.support.snapshots import (
    outcome,
    snapshot,
)
from tests.support.stock import (
    EntityMessage,
    comparable,
    content,
    lazy_entities_in,
    learn_names,
    stock_entity,
)
from tests.support.strategies import Grammar, entities
from tests.support.strategies.samples import PLAIN, RICH

VALID = entities(Grammar())
WITHOUT_NAN = entities(Grammar(nan=False))


@given(raw=VALID, data=st.data())
def test_properties_read_one_by_one(
    lazy_type: type[LazyEntity], raw: bytes, data: st.DataObject
) -> None:
    """Names, values and their exact types are stock's, read in any order."""
    stock = stock_entity(raw)
    learn_names(lazy_type, raw)
    lazy = lazy_type.from_bytes(raw)
    assert len(lazy) == len(stock)
    assert set(lazy) == set(stock)
    for name in data.draw(st.permutations(sorted(stock))):
        value = lazy[name]
        assert snapshot(value) == snapshot(stock[name])
        assert lazy[name] is value
        assert lazy.get(name) is value
    assert snapshot(lazy) == snapshot(stock)


@given(raw=VALID, data=st.data())
def test_raw(lazy_type: type[LazyEntity], raw: bytes, data: st.DataObject) -> None:
    """Unread properties are written as received, with unknown fields; the rest as from stock."""
    learn_names(lazy_type, raw)
    lazy = lazy_type.from_bytes(raw)
    assert content(lazyentity.raw(lazy)) == content(raw)
    read = data.draw(st.sets(st.sampled_from(sorted(lazy)))) if lazy else set()
    for name in read:
        lazy[name]
    expected = outcome(lambda: content(_encoded_in_part(raw, read)))
    assert outcome(lambda: content(lazyentity.raw(lazy))) == expected


def _encoded_in_part(raw: bytes, names: set[str]) -> bytes:
    """Return the entity in ``raw`` with its properties ``names`` encoded by stock.

    Entities embedded in these stay: they were not read.
    """
    stock = stock_entity(raw)
    for name in stock.keys() - names:
        del stock[name]
    message = EntityMessage.FromString(raw)
    for name, value in helpers.entity_to_protobuf(stock)._pb.properties.items():
        _graft_embedded(message.properties[name], value)
        message.properties[name].CopyFrom(value)
    return comparable(message)


def _graft_embedded(original: Any, value: Any) -> None:
    if value.HasField("entity_value"):
        value.entity_value.CopyFrom(original.entity_value)
    elif value.HasField("array_value"):
        pairs = zip(original.array_value.values, value.array_value.values, strict=True)
        for original_item, item in pairs:
            _graft_embedded(original_item, item)


@given(raw=WITHOUT_NAN)
def test_equality(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """It is equal to the same objects as the stock entity, on both sides of ``==``."""
    stock, twin = stock_entity(raw), stock_entity(raw)
    equal = stock == twin
    others: list[Callable[[], Entity]] = [
        lambda: stock,
        lambda: twin,
        lambda: lazy_type.from_bytes(raw),
    ]
    for make in others:
        assert (lazy_type.from_bytes(raw) == make()) is equal
        assert (make() == lazy_type.from_bytes(raw)) is equal
        assert (lazy_type.from_bytes(raw) != make()) is not equal
    plain = dict(twin)
    assert (lazy_type.from_bytes(raw) == plain) is (stock == plain)
    assert (plain == lazy_type.from_bytes(raw)) is (plain == stock)


@given(case=cases(list(RAW)))
def test_operations_in_any_order(lazy_type: type[LazyEntity], case: Case) -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    compare(case, lazily(case, RAW, lazy_type), RAW)


# Imitates a process that has the client but not this library.
LOAD_WITHOUT_LAZYENTITY = """
import pickle, sys
sys.modules["lazyentity"] = None
entity = pickle.load(sys.stdin.buffer)
assert type(entity).__module__ == "google.cloud.datastore.entity", type(entity)
assert not [name for name in sys.modules if name.startswith("lazyentity.")]
pickle.dump(entity, sys.stdout.buffer)
"""


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_mentions_only_the_client(lazy_type: type[LazyEntity], protocol: int) -> None:
    """A pickle names nothing of this library, and the loaded entity is stock at every depth."""
    for raw in (PLAIN, RICH):
        pickled = pickle.dumps(lazy_type.from_bytes(raw), protocol)
        assert b"lazyentity" not in pickled
        loaded = pickle.loads(pickled)
        assert type(loaded) is Entity
        assert lazy_entities_in(loaded) == []
        # Not all that a stock entity holds survives pickling: nanoseconds of a timestamp do not.
        assert snapshot(loaded) == snapshot(pickle.loads(pickle.dumps(stock_entity(raw), protocol)))


def test_across_processes(lazy_type: type[LazyEntity]) -> None:
    """A process where lazyentity cannot be imported loads the entity and sends it on."""
    for raw in (PLAIN, RICH):
        finished = subprocess.run(
            [sys.executable, "-c", LOAD_WITHOUT_LAZYENTITY],
            input=pickle.dumps(lazy_type.from_bytes(raw)),
            capture_output=True,
            check=False,
        )
        assert finished.returncode == 0, finished.stderr.decode()
        expected = pickle.loads(pickle.dumps(stock_entity(raw)))
        assert snapshot(pickle.loads(finished.stdout)) == snapshot(expected)


def test_an_entity_in_itself(lazy_type: type[LazyEntity]) -> None:
    """Cycles are kept: the copy holds itself."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for entity in (lazy, stock):
        entity["self"] = [entity]
        made = copy.deepcopy(entity)
        assert made["self"][0] is made
        made = pickle.loads(pickle.dumps(entity))
        assert made["self"][0] is made
        assert "..." in repr(entity)
