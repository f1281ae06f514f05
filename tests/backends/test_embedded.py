"""Embedded entities are indexed where they are: in the bytes of the entity that holds them."""

from __future__ import annotations

import gc
import sys
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity

from tests.backends.backends import NATIVE
from tests.support.strategies.samples import serialise

pytestmark = pytest.mark.any_backend

SIZE = 100_000


def _parent() -> bytes:
    inner = Entity()
    inner["blob"] = b"x" * SIZE
    return serialise({"one": inner, "many": [inner, inner], "scalar": 1})


@pytest.mark.parametrize(
    ("read", "children"),
    [(lambda e: [e["one"]], 1), (lambda e: e["many"], 2)],
    ids=["property", "array"],
)
def test_children_hold_on_to_the_parent_s_bytes(read: Any, children: int) -> None:
    """Each child is one more reference to the same bytes object, for as long as it lives."""
    raw = _parent()
    parent: Any = NATIVE.from_bytes(raw)
    before = sys.getrefcount(raw)
    embedded = read(parent)
    assert len(embedded) == children
    assert sys.getrefcount(raw) == before + children
    del embedded, parent
    gc.collect()
    assert sys.getrefcount(raw) == before - 1


def test_span_of_a_child() -> None:
    """The bytes of a child are its part of the parent's bytes, and make the same entity."""
    raw = _parent()
    parent: Any = NATIVE.from_bytes(raw)
    assert parent._raw is raw
    spans = [child._raw for child in (parent["one"], *parent["many"])]
    assert all(span in raw for span in spans)
    assert all(SIZE < len(span) < SIZE + 20 for span in spans)
    again: Any = NATIVE.from_bytes(spans[0])
    assert again["blob"] == parent["one"]["blob"]


def test_a_child_outlives_its_parent() -> None:
    """A child that is kept can be read after the parent and the caller's bytes are gone."""
    parent: Any = NATIVE.from_bytes(_parent())
    child = parent["many"][1]
    del parent
    gc.collect()
    assert child["blob"] == b"x" * SIZE
