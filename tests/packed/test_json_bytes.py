"""The bytes that ndb's ``JsonProperty`` stored, in the command and by themselves."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import datastore
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.packed import UnpackError, is_packed, pack, unpack
from lazyentity.packed.jsonbytes import document_of_json
from lazyentity.packed.migration import Migration, Report
from tests.bulk.services import Served, connected, served

DOCUMENTS: list[Any] = [
    {"lines": [{"price": 2.5, "sku": "ä"}]},
    [],
    {},
    "text",
    80,
    -1.5,
    True,
    None,
    {"$": 1},
]
REFUSED = [b"", b"\x80\x04", b"x", b"[1", b"nul", zlib.compress(b"[1"), zlib.compress(b"[1]")[:-1]]


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    with served() as made:
        yield made


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents(document: Any) -> None:
    stored = json.dumps(document, separators=(",", ":")).encode("ascii")
    assert document_of_json(stored) == document
    for level in (0, 1, 9):
        assert document_of_json(zlib.compress(stored, level)) == document


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_document(document: Any) -> None:
    """As the property reads it: numbers of any size, too, which a packed document cannot have."""
    stored = json.dumps(document).encode()
    assert document_of_json(stored) == document
    assert document_of_json(zlib.compress(stored)) == document


@pytest.mark.parametrize("stored", REFUSED)
def test_other_bytes(stored: bytes) -> None:
    with pytest.raises(UnpackError, match="they are no JSON either"):
        document_of_json(stored)


def test_sizes() -> None:
    """A small stream of zlib can be much JSON; no more than that is decompressed."""
    stored = json.dumps("x" * 1_000).encode()
    for form in (stored, zlib.compress(stored)):
        assert document_of_json(form, max_size=1_002) == "x" * 1_000
        with pytest.raises(UnpackError, match="more than 1,001 bytes"):
            document_of_json(form, max_size=1_001)


def test_migration(running: Served) -> None:
    """They are packed, and the meaning of compressed bytes goes; what is no JSON stays."""
    with connected(running) as client:
        for number, document in enumerate(DOCUMENTS):
            text = json.dumps(document).encode()
            for name, stored in (("plain", text), ("compressed", zlib.compress(text))):
                entity = datastore.Entity(client.key("Order", f"{name} {number}"))
                entity["result"] = stored
                if name == "compressed":
                    entity._meanings["result"] = (22, stored)
                client.put(entity)
        for number, stored in enumerate([*REFUSED, b"NaN", b"[123456789012345678901]"]):
            entity = datastore.Entity(client.key("Order", f"refused {number}"))
            entity["result"] = stored
            client.put(entity)
        report = Report()
        list(Migration(client, "Order", "result", 512).run(report))
        assert report.packed == 2 * len(DOCUMENTS)
        assert {reason: left.count for reason, left in report.left.items()} == {
            "bytes of another format": len(REFUSED),
            "cannot be packed": 2,
        }
        for entity in client.query(kind="Order").fetch():
            name, _, number = entity.key.name.partition(" ")
            assert is_packed(entity["result"]) == (name != "refused")
            if name != "refused":
                assert unpack(entity["result"]) == DOCUMENTS[int(number)]
                assert entity._meanings == {}


def test_packed_documents_are_no_json() -> None:
    with pytest.raises(UnpackError):
        document_of_json(pack({"a": 1}))
