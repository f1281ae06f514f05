"""Properties of the native backend alone, and keys that it serialises as the pure one does."""

from __future__ import annotations

import gc
import importlib
import sys
from typing import Any

import pytest
from google.cloud.datastore import Key
from google.cloud.datastore.entity import Entity
from hypothesis import given, strategies as st

from lazyentity.codec import messages
from lazyentity.pure import writing as pure
from tests.backends.backends import NATIVE
from tests.support.strategies.samples import serialise

native: Any = importlib.import_module("lazyentity.native.encoder")


_TEXT = st.text(st.characters(), max_size=5)
_IDS = st.integers(-(2**64), 2**64) | _TEXT


@st.composite
def _keys(draw: st.DrawFn) -> Key:
    """Keys of any depth, partial ones and those without a message among them."""
    key = Key("Kind", 1, project="p", namespace=draw(st.none() | _TEXT), database=draw(_TEXT))
    elements: list[dict[str, Any]] = []
    for kind, identifier in draw(st.lists(st.tuples(_TEXT, _IDS), min_size=1)):
        name = "id" if isinstance(identifier, int) else "name"
        elements.append({"kind": kind, name: identifier})
    if draw(st.booleans()):
        elements[-1] = {"kind": elements[-1]["kind"]}
    key._path = elements
    return key


def _parsed(serialised: bytes | None) -> Any:
    return None if serialised is None else messages.Key.FromString(serialised)


@given(
    key=_keys(),
    project=st.sampled_from(["p", "another"]),
    database=st.none() | st.just("") | st.just("another"),
)
def test_complete_keys(key: Key, project: str, database: str | None) -> None:
    """Both backends serialise complete keys of the database, and leave the others to the caller."""
    # None is that of the key.
    asked = (key.database or "") if database is None else database
    serialised = native.complete_key_bytes(key, project, asked)
    assert _parsed(serialised) == _parsed(pure.complete_key_bytes(key, project, asked))
    is_own = project == "p" and asked == (key.database or "")
    last = key._path[-1]
    is_partial = last.get("id") is None and last.get("name") is None
    whole = native.key_bytes(key)
    assert serialised == (None if is_partial or not is_own else whole)
    assert whole == pure.key_bytes(key)


def test_a_key_whose_method_was_replaced() -> None:
    """As a mock does it. The client calls the replacement."""
    key = Key("Kind", 1, project="p")
    vars(key)["to_protobuf"] = Key("Kind", 2, project="p").to_protobuf
    for module in (native, pure):
        assert module.key_bytes(key) is None
        assert module.complete_key_bytes(key, "p", "") is None


class _OtherKey(Key):
    pass


@pytest.mark.parametrize(
    "other",
    [
        None,
        ("Kind", 1),
        _OtherKey("Kind", 1, project="p"),  # type: ignore[no-untyped-call]  # upstream is untyped
    ],
)
def test_other_classes_than_keys(other: Any) -> None:
    """A subclass may have its own idea of its message."""
    for module in (native, pure):
        assert module.complete_key_bytes(other, "p", "") is None


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


def test_a_child_outlives_its_parent() -> None:
    """A child that is kept can be read after the parent and the caller's bytes are gone."""
    parent: Any = NATIVE.from_bytes(_parent())
    child = parent["many"][1]
    del parent
    gc.collect()
    assert child["blob"] == b"x" * SIZE


TRACKS_ALL = sys.version_info >= (3, 14)
"""Whether CPython tracks each dict from the start."""


def test_entities_of_scalars_are_not_tracked() -> None:
    """The collector gets to know an entity with its first value that refers to others."""
    entity: Any = NATIVE.from_bytes(serialise({"text": "t", "number": 1, "inner": {"deep": 1}}))
    assert gc.is_tracked(entity) is TRACKS_ALL
    assert (entity["text"], entity["number"]) == ("t", 1)
    entity["text"] = "another"
    assert gc.is_tracked(entity) is TRACKS_ALL
    inner = entity["inner"]
    assert gc.is_tracked(entity)
    assert inner["deep"] == 1
    assert gc.is_tracked(inner) is TRACKS_ALL
    assert inner.key is None
    assert gc.is_tracked(inner)


# CPython 3.12 and later keep weak references, and room for attributes, in front of the object.
MOST_BYTES = 128 if sys.version_info < (3, 12) else 136


def test_size_of_an_entity() -> None:
    """With CPython's header in front of the object, without the table of its properties."""
    entity = NATIVE()
    in_front = sys.getsizeof(entity) - entity.__sizeof__()
    assert in_front > 0
    assert NATIVE.__basicsize__ + in_front <= MOST_BYTES
