"""The native backend serialises keys as the pure one does."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from google.cloud.datastore import Key
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.codec import messages
from lazyentity.pure import keys as pure

pytestmark = pytest.mark.any_backend

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


def test_elements_that_no_constructor_makes() -> None:
    """Bytes are those that protobuf writes, or none: a batch of look-ups finds its keys by them."""
    for element in ({"id": 1, "kind": "K"}, {"kind": "K", "id": 1, "name": "n"}, {"name": "n"}):
        key = Key("Kind", 1, project="p")
        key._path = [element]
        assert native.key_bytes(key) in (None, pure.key_bytes(key))


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


@pytest.mark.parametrize("path", [[], (), [None], [[]], None, [{}], [{"kind": None}], [{1: 2}]])
def test_paths_that_no_constructor_makes(path: Any) -> None:
    """They are left to the client, which refuses them in its own way."""
    key = Key("Kind", 1, project="p")
    key._path = path
    for module in (native, pure):
        assert module.complete_key_bytes(key, "p", "") is None
