"""The native backend gives the results of the pure one, and the corpus of fuzzing passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given

import tests.fuzz
from lazyentity.codec.messages import Entity
from tests.backends.backends import NATIVE, PURE, assert_same_written
from tests.backends.malformed import MALFORMED, entity_of
from tests.fuzz.checks import check
from tests.support.snapshots import Raised, outcome
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.samples import PLAIN
from tests.support.strategies.schema import VALUE


@given(raw=entities(Grammar(faulty=True)))
def test_writing_back(raw: bytes) -> None:
    """Both backends write a partly read entity as the same message, or refuse it."""
    assert_same_written(raw)


@given(raw=entities(Grammar(faulty=True)))
def test_cases_of_values(raw: bytes) -> None:
    native, pure = (
        dict(zip(entity, entity._wire_cases(entity), strict=True))
        for entity in (NATIVE.from_bytes(raw), PURE.from_bytes(raw))
    )
    assert native == pure


@pytest.mark.parametrize("raw", MALFORMED.values(), ids=MALFORMED.keys())
def test_the_pure_one_refuses_malformed_bytes_at_once(raw: bytes) -> None:
    """With protobuf's reason: it parses an entity as a whole."""
    stock = outcome(lambda: Entity.FromString(raw))
    pure = outcome(lambda: PURE.from_bytes(raw))
    assert isinstance(stock, Raised)
    assert isinstance(pure, Raised)
    assert pure.kind is stock.kind is DecodeError
    assert pure.text.endswith(f" could not be decoded: {stock.text}")


@pytest.mark.parametrize("given", [None, "text", bytearray(PLAIN), memoryview(PLAIN), 7, [1]])
def test_other_types_than_bytes(given: Any) -> None:
    """The public constructor refuses other types than bytes alike, before anything is read."""
    native = outcome(lambda: NATIVE.from_bytes(given))
    assert native == outcome(lambda: PURE.from_bytes(given))
    assert native.kind is TypeError


def test_order_of_the_wire() -> None:
    """The native backend keeps the order in which the properties arrived."""
    names = [f"property {number * 7 % 40}" for number in range(40)]
    null = wire.integer(VALUE.null_value, 0)
    assert list(NATIVE.from_bytes(b"".join(entity_of(name, null) for name in names))) == names


PROJECT_NOT_UTF8 = bytes.fromhex("0a0c0a031201a812050a014b1001")
NAME_NOT_UTF8 = bytes.fromhex("0a0d0a0312017012060a014b1a01a8")


@pytest.mark.parametrize("raw", [PROJECT_NOT_UTF8, NAME_NOT_UTF8], ids=["project", "name"])
def test_key_that_is_not_utf8(raw: bytes) -> None:
    """A key whose text is not UTF-8 raises DecodeError; once it was the sentinel's TypeError."""
    with pytest.raises(DecodeError, match="could not be decoded: Error parsing message"):
        _ = NATIVE.from_bytes(raw).key


def test_malformed_entity_is_told_in_the_client_s_terms() -> None:
    """The text names the client's message, not one that only lazyentity has."""
    raw = b"\x1a\x40\x00"
    native, pure = outcome(lambda: NATIVE.from_bytes(raw)), outcome(lambda: PURE.from_bytes(raw))
    assert isinstance(native, Raised)
    # The text of protobuf's own error depends on its version.
    stock = outcome(lambda: Entity.FromString(raw))
    assert isinstance(stock, Raised)
    assert native.text.endswith(f": {stock.text}")
    assert native == pure


CORPUS = sorted(Path(tests.fuzz.__file__).with_name("corpus").iterdir())


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_each_seed(path: Path) -> None:
    """Each input of the corpus keeps the promises for any bytes."""
    check(path.read_bytes())
