"""An ``Entity`` and an ``EntityProto`` whose bytes look alike, in one process."""

from __future__ import annotations

from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity.codec.entityproto import PROPERTY
from tests.backends.indexes import NATIVE, PURE, field
from tests.support.snapshots import snapshot
from tests.support.stock import stock_entity
from tests.support.strategies import wire
from tests.support.strategies.schema import ENTITY, ENTRY, VALUE

_NAME = field(3, b"a")
_TEXT = wire.delimited(VALUE.string_value, "x" * 14)
# The tag of the value is the length of what follows it.
_ENTRY = _NAME + wire.message(ENTRY.value, _TEXT).encode()
_ENTITY = wire.delimited(ENTITY.properties, _ENTRY).encode()


@pytest.mark.parametrize("index_type", [PURE, NATIVE], ids=["pure", "native"])
def test_names_of_the_other_encoding(lazy_type: type[LazyEntity], index_type: Any) -> None:
    """A learned shape of an ``EntityProto`` is not found in an ``Entity``."""
    assert _ENTRY[len(_NAME)] == len(_ENTRY) - len(_NAME) - 1
    proto = field(PROPERTY, _NAME + b"\x20\x00" + field(5, b"\x08\x07"))
    for _ in range(4):
        assert index_type.of(proto).names == ("a",)
    assert snapshot(lazy_type.from_bytes(_ENTITY)) == snapshot(stock_entity(_ENTITY))
