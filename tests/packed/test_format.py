"""The stored bytes: what is read back, and the errors of all other bytes."""

from __future__ import annotations

import contextlib
import datetime
import json
import random
import struct
import zlib
from typing import Any

import orjson
import pytest
import zstandard
from google.cloud.datastore import Entity, Key
from hypothesis import given, settings, strategies as st

import lazyentity
from lazyentity._backend import is_json
from lazyentity.codec.values import RESERVED
from lazyentity.packed import UnpackError, format as stored_format, is_packed, pack, unpack
from lazyentity.packed.properties import document_of_json
from tests.fuzz.mutation import blindly
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.strategies.samples import plain_properties, serialise

# The key that tags have is drawn often.
KEYS = st.text(max_size=6) | st.just(RESERVED)
JSON_SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=12)
)
_AWARE = st.datetimes(
    timezones=st.integers(-23 * 3600, 23 * 3600).map(
        lambda seconds: datetime.timezone(datetime.timedelta(seconds=seconds))
    )
)
_HASHABLE = JSON_SCALARS | _AWARE | st.binary(max_size=8)
_TAGGED_SCALARS: st.SearchStrategy[Any] = (
    _AWARE
    | st.binary(max_size=20)
    | st.sets(_HASHABLE, max_size=3)
    | st.frozensets(_HASHABLE | st.frozensets(st.integers(0, 9), max_size=2), max_size=3)
)


def _nested(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
        max_leaves=12,
    )


DOCUMENTS = _nested(JSON_SCALARS | _TAGGED_SCALARS)

LARGE = {"rows": [{"number": number, "text": f"row {number}"} for number in range(200)]}


def typed(value: Any) -> Any:
    """Return a form that is equal only for equal values of the same types."""
    if isinstance(value, dict):
        return dict, {key: typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return list, [typed(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return type(value), frozenset(map(typed, value))
    if isinstance(value, float):
        return float, struct.pack("<d", value)
    return type(value), value


@settings(max_examples=60)
@given(value=DOCUMENTS)
def test_round_trip(value: Any) -> None:
    """Every document comes back with the same types, compressed or not.

    One of JSON types, without the key of tags, is stored as that JSON.
    """
    for compress_from in (0, 1_000_000):
        made = pack(value, compress_from=compress_from)
        assert is_packed(made)
        assert typed(unpack(memoryview(made))) == typed(value)
    is_tagged = made[3] == 0x10
    assert is_json(value) is not is_tagged
    assert struct.unpack("<I", made[4:8]) == (len(made) - 12,)
    if not is_tagged:
        assert orjson.loads(made[8:-4]) == value


def test_header() -> None:
    """The bytes are those that the module documents."""
    begins = b'\xf5L\x02\x00\x07\x00\x00\x00{"a":1}'
    assert pack({"a": 1}) == begins + struct.pack("<I", zlib.crc32(begins))
    assert pack(b"\x00", compress_from=1000)[:4] == b"\xf5L\x02\x10"
    large = pack(LARGE)
    assert large[:4] == b"\xf5L\x02\x01"
    assert zstandard.get_frame_parameters(large[8:-4]).has_checksum
    assert len(large) < len(orjson.dumps(LARGE)) / 2
    # Contents that grow are not compressed.
    assert pack("x", compress_from=0)[3] == 0


@pytest.mark.parametrize(
    "value",
    [
        {"paid": True, "amount": 10, "currency": "EUR"},
        [1, 2, 3],
        12345,
        "text",
        None,
        {"at": b"\x00\x01", "tags": {"a"}},
        LARGE,
    ],
    ids=["dict", "list", "int", "text", "null", "tagged", "compressed"],
)
def test_mutations(value: Any) -> None:
    """None is read as another document: neither changed bytes, nor changed sizes or versions."""
    chance = random.Random(1)
    made = pack(value)
    mutate = blindly(chance)
    for _ in range(2_000):
        mutated = made
        for _ in range(chance.randint(1, 3)):
            mutated = mutate(mutated, 3_000)
        found = outcome(unpack, mutated)
        assert found.kind is UnpackError if isinstance(found, Raised) else mutated == made


@pytest.mark.parametrize("value", [{"a": 1}, LARGE, None, {"a": b"x"}])
def test_documents_of_version_1(value: Any) -> None:
    """They have no checksum, and are read as before; nothing but that version is read so."""
    made = pack(value)
    old = made[:2] + b"\x01" + made[3:-4]
    assert is_packed(old)
    assert typed(unpack(old)) == typed(value)
    with pytest.raises(UnpackError):
        unpack(made[:2] + b"\x01" + made[3:])
    with pytest.raises(UnpackError):
        unpack(old[:2] + b"\x02" + old[3:])


@given(raw=st.binary(max_size=40))
def test_any_bytes(raw: bytes) -> None:
    """Foreign bytes, and any bytes after a header, raise nothing but UnpackError."""
    with pytest.raises(UnpackError, match="and packed documents with"):
        unpack(b"\x80" + raw)
    for codec in (0, 1, 0x10):
        for version in (1, 2):
            with contextlib.suppress(UnpackError):
                unpack(struct.pack("<2sBBI", b"\xf5L", version, codec, len(raw)) + raw)


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"\xf5L\x03\x00\x01\x00\x00\x001", "of version 3, and this lazyentity reads version 2"),
        (b"\xf5L\x02\x00\x01\x00\x00\x001", "truncated or damaged (it has another checksum)"),
        (b"\xf5L\x01\x05\x01\x00\x00\x001", "unknown codec 5"),
        (b"\xf5L\x01\x20\x01\x00\x00\x001", "unknown flags 0x2"),
        (b"\xf5L\x01", "truncated: 3 bytes, and a header has 8"),
        (b'{"a":1}', "begin with b'{\"a\"', and packed documents with"),
        (b"", "truncated: 0 bytes, and a header has 8"),
        (b"\xf5", "truncated: 1 bytes, and a header has 8"),
        (b"\xf5M", "and packed documents with"),
        (b"L", "and packed documents with"),
    ],
)
def test_unknown_headers(header: bytes, text: str) -> None:
    """A version, codec or flag of the future is named; nothing of it is read."""
    with pytest.raises(UnpackError) as raised:
        unpack(header)
    assert text in str(raised.value)


def test_bounds_before_decompressing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that would fill the memory is refused by its size, whatever the header says."""
    monkeypatch.setattr(stored_format, "_contexts", None)
    frame = zstandard.ZstdCompressor().compress(bytes(10_000_000))
    with pytest.raises(UnpackError, match="10,000,000 bytes of JSON, more than 1,000"):
        unpack(struct.pack("<2sBBI", b"\xf5L", 1, 1, 10_000_000) + frame, max_size=1000)
    with pytest.raises(UnpackError, match="its header says 100 bytes of JSON, and its zstd frame"):
        unpack(struct.pack("<2sBBI", b"\xf5L", 1, 1, 100) + frame, max_size=1000)
    sizeless = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1000))
    with pytest.raises(UnpackError, match="zstd frame nothing"):
        unpack(struct.pack("<2sBBI", b"\xf5L", 1, 1, 1000) + sizeless)


def test_bound_of_packing() -> None:
    with pytest.raises(ValueError, match="more than 10; split it"):
        pack("0123456789", max_size=10)
    assert unpack(pack("0123456789", max_size=12), max_size=12) == "0123456789"


def test_values_stored_before() -> None:
    """Embedded entities, dicts and lists are given as plain dicts and lists."""
    raw = serialise({"result": _embedded(), "items": [_embedded(), 1]})
    expected = plain_properties()
    for entity in (lazyentity.LazyEntity.from_bytes(raw), _stock(raw)):
        assert snapshot(unpack(entity["result"])) == snapshot(expected)
        assert snapshot(unpack(entity["items"])) == snapshot([expected, 1])
    assert snapshot(unpack(expected)) == snapshot(expected)
    assert snapshot(unpack(pack(_stock(raw)["result"]))) == snapshot(expected)


def _embedded() -> Entity:
    entity = Entity()
    entity.update(plain_properties())
    return entity


def _stock(raw: bytes) -> Entity:
    return lazyentity.materialize(lazyentity.LazyEntity.from_bytes(raw))


@pytest.mark.parametrize("stored", [None, 1, "text", Key("A", 1, project="p")])
def test_other_stored_types(stored: Any) -> None:
    with pytest.raises(TypeError, match=r"unpack\(\) takes bytes"):
        unpack(stored)
    assert not is_packed(stored)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_documents_of_a_json_property(document: Any) -> None:
    """As the property reads it: numbers of any size, too, which a packed document cannot have."""
    for separators in (None, (",", ":")):
        stored = json.dumps(document, separators=separators).encode("ascii")
        assert document_of_json(stored) == document
        for level in (-1, 0, 1, 9):
            assert document_of_json(zlib.compress(stored, level)) == document


@pytest.mark.parametrize(
    "stored",
    [b"", b"\x80\x04", b"[1", zlib.compress(b"[1"), zlib.compress(b"[1]")[:-1], pack({"a": 1})],
)
def test_bytes_that_are_no_json(stored: bytes) -> None:
    with pytest.raises(UnpackError, match="they are no JSON either"):
        document_of_json(stored)


def test_sizes_of_json() -> None:
    """A small stream of zlib can be much JSON; no more than that is decompressed."""
    stored = json.dumps("x" * 1_000).encode()
    for form in (stored, zlib.compress(stored)):
        assert document_of_json(form, max_size=1_002) == "x" * 1_000
        with pytest.raises(UnpackError, match="more than 1,001 bytes"):
            document_of_json(form, max_size=1_001)
