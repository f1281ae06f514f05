"""Bytes that broke a promise once: found by fuzzing, kept for good."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError

from lazyentity import LazyEntity
from lazyentity.codec.messages import Entity
from tests.backends.backends import NATIVE, PURE, assert_same_access
from tests.support.snapshots import Raised, outcome

PROJECT_NOT_UTF8 = bytes.fromhex("0a0c0a031201a812050a014b1001")
NAME_NOT_UTF8 = bytes.fromhex("0a0d0a0312017012060a014b1a01a8")


@pytest.mark.parametrize("raw", [PROJECT_NOT_UTF8, NAME_NOT_UTF8], ids=["project", "name"])
def test_key_that_is_not_utf8(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """A key whose text is not UTF-8 raises DecodeError; once it was the sentinel's TypeError."""
    with pytest.raises(DecodeError, match="could not be decoded: Error parsing message"):
        _ = lazy_type.from_bytes(raw).key
    assert_same_access(raw, malformed=True)


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
