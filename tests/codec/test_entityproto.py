"""The index of an ``EntityProto``: it finds what protobuf finds, or nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from lazyentity.codec.entityproto import KEY, PROPERTY, RAW_PROPERTY
from lazyentity.codec.undecoded import UNDECODED
from tests.backends.indexes import NATIVE, assert_same_index, field

OTHERS = [
    b"\x20\x01",  # int64
    b"\xa3\x06\x08\x01\xa3\x06\xa4\x06\xa4\x06",  # groups
    b"\xa5\x06abcd",
    b"\xa1\x06abcdefgh",
    field(16, b"\x0b\x12\x01K\x0c"),
    field(5, b"kind"),
]
"""Fields of an entity, or of a property's value, that are neither key nor property."""

names = st.sampled_from([b"a", b"b", b"name", "été".encode(), b""])
values = st.sampled_from(
    [
        b"",
        b"\x08\x07",
        b"\x10\x01",
        b"\x1a\x01x",
        b"\x21abcdefgh",
        b"\x2b\x31abcdefgh\x2c",
        b"\x2b\x31abcdefgh\x39abcdefgh\x2c",
        # Keys: one of each kind of element, and one with a database.
        b"\x63\x6a\x01a\x73\x7a\x01K\x80\x01\x05\x74\x73\x7a\x01K\x8a\x01\x01n\x74\x64",
        b"\x63\x6a\x01a\x73\x7a\x01K\x74\xa2\x01\x01s\x64",
        b"\x63\x6a\x01a\x73\x7a\x01K\x74\xba\x01\x01d\x64",
    ]
)


_ONE_IN_TEN = st.sampled_from([True] + [False] * 9)
_ONE_IN_TWENTY = st.sampled_from([True] + [False] * 19)
_MEANINGS = st.sampled_from([b"", b"\x08\x0f", b"\x08\x12"])
_URIS = st.sampled_from([b"", b"", field(2, b"uri"), field(2, b"ZLIB")])
_MULTIPLE = st.sampled_from([b"\x20\x00", b"\x20\x01", b""])
_OTHERS_OF_A_PROPERTY = st.sampled_from([b"", *OTHERS[:4]])


@st.composite
def properties(draw: st.DrawFn) -> bytes:
    """A serialised property, mostly as protobuf writes one."""
    parts = [
        draw(_MEANINGS),
        draw(_URIS),
        field(3, draw(names)),
        draw(_MULTIPLE),
        field(5, draw(values)),
        draw(_OTHERS_OF_A_PROPERTY),
    ]
    if draw(_ONE_IN_TEN):
        parts = draw(st.permutations(parts))
    if draw(_ONE_IN_TWENTY):
        parts.append(draw(st.sampled_from(parts)))
    return b"".join(parts)


_SOME_PROPERTIES = st.lists(properties(), max_size=5)
_SOME_RAW_PROPERTIES = st.lists(properties(), max_size=3)
_SOME_OTHERS = st.lists(st.sampled_from(OTHERS), max_size=2)


@st.composite
def entities(draw: st.DrawFn) -> bytes:
    """A serialised entity, mostly as protobuf writes one."""
    fields = [
        field(KEY, b"\x6a\x03app"),
        *(field(PROPERTY, each) for each in draw(_SOME_PROPERTIES)),
        *(field(RAW_PROPERTY, each) for each in draw(_SOME_RAW_PROPERTIES)),
        *draw(_SOME_OTHERS),
    ]
    if draw(_ONE_IN_TEN):
        fields = draw(st.permutations(fields))
    return b"".join(fields)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Such an entity with a few bytes changed, or cut off."""
    raw = bytearray(draw(entities()))
    for _ in range(draw(st.integers(0, 3))):
        if raw:
            raw[draw(st.integers(0, len(raw) - 1))] = draw(st.integers(0, 255))
    return bytes(raw[: draw(st.integers(0, len(raw)))] if draw(st.booleans()) else raw)


@given(raw=entities())
def test_as_protobuf_finds_it(raw: bytes) -> None:
    """Several times: the shape is new, then kept, then likely."""
    for _ in range(3):
        assert_same_index(raw)


@given(raw=damaged())
def test_damaged_bytes(raw: bytes) -> None:
    assert_same_index(raw)


@given(name=names.filter(bool), value=values, multiple=st.booleans(), text=st.booleans())
def test_plain_values(name: bytes, value: bytes, multiple: bool, text: bool) -> None:
    raw = field(PROPERTY, field(3, name) + bytes([0x20, multiple]) + field(5, value))
    expected: Any = {
        b"": None,
        b"\x08\x07": 7,
        b"\x10\x01": True,
        b"\x1a\x01x": "x" if text else b"x",
        b"\x21abcdefgh": 8.540883223036124e194,
    }.get(value, UNDECODED)
    found = NATIVE.from_bytes(raw).value(name.decode(), text)
    if expected is UNDECODED:
        assert found is UNDECODED
    else:
        assert found == ([expected] if multiple else expected)
        assert type(found[0] if multiple else found) is type(expected)


FORMS = {
    b"\x08\x07": b"\x72\x00\x00\x08",
    b"\x1a\x01x": b"\x72\x00\x00\x1a",
    b"": b"\x72\x00\x00\x00",
    b"\x08\x07\x10\x01": b"\x72\x00\x00\xff",
}


@pytest.mark.parametrize(("value", "form"), FORMS.items())
def test_forms(value: bytes, form: bytes) -> None:
    raw = field(PROPERTY, field(3, b"a") + b"\x20\x00" + field(5, value))
    assert NATIVE.from_bytes(raw).layouts() == form
    assert NATIVE.from_bytes(raw).entry_names() == ["a"]


@pytest.mark.parametrize(
    "raw",
    [
        field(PROPERTY, field(3, b"\xff")),
        field(PROPERTY, b"\x20\x01"),
        field(PROPERTY, field(3, b"a"))[:-1],
        b"\x73",
    ],
)
def test_what_cannot_be_indexed(raw: bytes) -> None:
    assert NATIVE.from_bytes(raw) is None
