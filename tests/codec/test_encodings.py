"""Each legal, non-canonical encoding has the same meaning as in the stock client."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError

from lazyentity import LazyEntity
from tests.backends.malformed import entity_of
from tests.support.stock import stock_entity
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise
from tests.support.strategies.schema import (
    VALUE,
)


@pytest.mark.parametrize("size", [0, 1, 2, 63, 64, 65, 127, 128, 129])
@pytest.mark.parametrize("character", ["a", "\0", "\x7f", "\x80", "é", "€", "😀"])
def test_strings_of_any_size(lazy_type: type[LazyEntity], size: int, character: str) -> None:
    for text in (character * size, "x" * size + character, character + "x" * size):
        raw = serialise({"text": text})
        read = lazy_type.from_bytes(raw)["text"]
        assert type(read) is str
        assert read == stock_entity(raw)["text"] == text
        assert read.isascii() == text.isascii()
        assert hash(read) == hash(text)


@pytest.mark.parametrize("size", [2, 64, 65])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_strings_that_are_not_utf8(lazy_type: type[LazyEntity], size: int, place: int) -> None:
    text = bytearray(b"x" * size)
    text[place] = 0xFF
    raw = entity_of("text", wire.delimited(VALUE.string_value, bytes(text)))
    # The native backend parses a value when it is read, the pure one the entity as a whole.
    with pytest.raises(DecodeError):
        lazy_type.from_bytes(raw)["text"]
