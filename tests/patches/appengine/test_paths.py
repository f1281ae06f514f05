"""The parts of keys, and the values that an index puts into a dict in one step."""

from __future__ import annotations

import random
from functools import partial
from typing import Any

import pytest
from google.appengine.api import datastore
from google.appengine.datastore.entity_bytes_pb2 import Reference
from google.appengine.ext.ndb import Key
from hypothesis import given, strategies as st

from lazyentity.native.backend import PropertyIndex
from lazyentity.patches.appengine.ndb.models import _key_of
from tests.patches.appengine.messages import EntityProto, outcome, references, stock

_TEXTS = st.sampled_from(["", "a", "Kind", "x" * 130, "Ä"])


@st.composite
def _odd_references(draw: st.DrawFn) -> Any:
    """Make a key any of whose fields may be missing, empty, or there once more."""
    made = Reference()
    for name in ("app", "name_space", "database_id"):
        if draw(st.booleans()):
            setattr(made, name, draw(_TEXTS))
    for _ in range(draw(st.integers(0, 3))):
        element = made.path.element.add()
        for name in ("type", "name"):
            if draw(st.booleans()):
                setattr(element, name, draw(_TEXTS))
        if draw(st.booleans()):
            element.id = draw(st.sampled_from([0, 1, -1, 127, 128, 2**63 - 1]))
    return made


@given(reference=references | _odd_references())
def test_the_parts_of_a_key_are_those_of_its_message(reference: Any) -> None:
    message = EntityProto(key=reference)
    made = _key_of(message)
    if not reference.path.element:
        assert made is None
        return
    expected = Key(reference=reference)
    attributes = [f"_Key__{name}" for name in ("app", "namespace", "pairs", "reference")]
    assert [getattr(made, name) for name in attributes] == [
        getattr(expected, name) for name in attributes
    ]


@given(reference=_odd_references(), noise=st.randoms(use_true_random=False))
def test_malformed_keys_are_left_to_protobuf(reference: Any, noise: random.Random) -> None:
    """No bytes of a key are read past their end, or taken for another key."""
    raw = bytearray(reference.SerializePartialToString())
    for _ in range(noise.randrange(3)):
        if raw:
            raw[noise.randrange(len(raw))] = noise.randrange(256)
    raw = raw[: noise.randrange(len(raw) + 1)]
    index = PropertyIndex.from_bytes(
        bytes((0x6A, len(raw) & 0x7F)) + raw if len(raw) < 128 else b""
    )
    path = None if index is None else index.path()
    if path is not None:
        key = Key(reference=Reference.FromString(bytes(raw)))
        assert path == (key._Key__app, key._Key__namespace, key._Key__pairs)


@pytest.mark.usefixtures("patched")
@given(reference=references | _odd_references(), require_valid_key=st.booleans())
def test_entities_with_any_key(reference: Any, require_valid_key: bool) -> None:
    """The client says at once which keys it refuses."""
    results = []
    for make in (datastore.Entity._FromPb, stock):
        message = EntityProto(key=reference)
        of_message = partial(make, message, require_valid_key)
        is_made = outcome(lambda: of_message() is not None)  # noqa: B023  # called at once
        xml = outcome(lambda: of_message().key().ToXml())  # noqa: B023
        # A refused key may be completed in the message, of which `stock` makes a copy.
        refused = issubclass(xml[0], Exception)
        results.append([is_made, xml, refused or message.key.SerializePartialToString()])
    assert results[0] == results[1]
