"""Documents in any bytes: the native backend gives what protobuf gives, or leaves it."""

from __future__ import annotations

import random

import pytest

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native import documents as native
from tests.backends.documents import (
    READ_TIME,
    READER,
    RESPONSE,
    SAMPLE,
    assert_same_document,
)
from tests.support.concurrency import together

pytestmark = pytest.mark.any_backend


def test_the_sample_is_decoded() -> None:
    """Otherwise the tests below would compare nothing."""
    made = native.DocumentBytes.of(SAMPLE, READ_TIME, RESPONSE)
    fields = made.decoded_fields(READER, None)
    assert fields is not UNDECODED
    assert fields["a"] == {"a": {"é": "text ä"}, "b": [0.0]}
    assert made.decoded_value(READER, None, ("a", "a", "é")) == "text ä"
    assert_same_document(SAMPLE)


def test_cut_off() -> None:
    for end in range(len(SAMPLE)):
        assert_same_document(SAMPLE[:end])


@pytest.mark.parametrize("number", range(4))
def test_damaged(number: int) -> None:
    """One to three bytes changed, left out or added."""
    chance = random.Random(number)
    for _ in range(1500):
        raw = bytearray(SAMPLE)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(raw))
            match chance.randrange(3):
                case 0:
                    raw[at] = chance.randrange(256)
                case 1:
                    del raw[at]
                case _:
                    raw.insert(at, chance.randrange(256))
        assert_same_document(bytes(raw))


def _document(names: list[str]) -> bytes:
    response = RESPONSE()
    response.document.name = "a/b"
    for name in names:
        response.document.fields[name].integer_value = len(name)
    raw: bytes = response.SerializeToString()
    return raw


def _decoded(raw: bytes) -> dict[str, int]:
    made = native.DocumentBytes.of(raw, READ_TIME, RESPONSE)
    fields: dict[str, int] = made.decoded_fields(READER, None)
    return fields


def _names(number: int) -> list[str]:
    """More names than are remembered; names of equal length differ in their last characters."""
    return [f"{number}{'x' * (index % 70)}{index}" for index in range(3000)]


@pytest.mark.parametrize("name", ["a", "a/b", "/b", "a/", "a//b", "ä/b"])
def test_names_of_collections(name: str) -> None:
    """A name without a slash is that of no document in a collection."""
    response = RESPONSE()
    response.document.name = name
    assert_same_document(response.SerializeToString())


@pytest.mark.parametrize("tag", [b"\x8a\x00", b"\x92\x00", b"\x9a\x00", b"\xa2\x00"])
def test_tags_in_a_longer_encoding(tag: bytes) -> None:
    """Protobuf takes them for the fields that they name."""
    document = RESPONSE.FromString(_document(["a"])).document.SerializeToString()
    added = document + tag + bytes((len(document),)) + document
    raw = b"\x0a" + bytes((len(added),)) + added
    assert native.DocumentBytes.of(raw, READ_TIME, RESPONSE) is None
    assert_same_document(raw)


def test_many_names() -> None:
    """The strings of names are remembered, but not for ever."""
    for number in range(3):
        names = _names(number)
        assert _decoded(_document(names)) == {name: len(name) for name in names}
    raw = _document(["amount", "ä amount", "x" * 200])
    first, second = (list(_decoded(raw)) for _ in range(2))
    assert sorted(first) == sorted(second) == sorted(["amount", "ä amount", "x" * 200])
    same = [one for one, other in zip(first, second, strict=True) if one is other]
    assert same == ["amount"]


def test_threads_with_other_names(frequent_switches: None) -> None:
    def work(number: int) -> bool:
        names = _names(number)
        raw = _document(names)
        expected = {name: len(name) for name in names}
        return all(_decoded(raw) == expected for _ in range(5))

    assert together(3, work) == [True] * 3


def test_threads_decode_the_same_bytes(frequent_switches: None) -> None:
    made = native.DocumentBytes.of(SAMPLE, READ_TIME, RESPONSE)
    expected = made.decoded_fields(READER, None)

    def work(number: int) -> object:
        found = [made.decoded_fields(READER, None) for _ in range(200)]
        assert all(each == expected for each in found)
        return made.decoded_value(READER, None, ("a", "b"))

    assert together(3, work) == [[0.0]] * 3
