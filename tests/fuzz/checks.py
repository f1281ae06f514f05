"""The promises for any bytes taken for an entity, a read response, an ``EntityProto``, a document.

Protobuf's parser and the stock client are the judges wherever they accept the bytes. Where they
refuse a whole message, a lazy entity may still give the parts that they accept alone.
"""

from __future__ import annotations

import importlib
from typing import Any

from google.protobuf.message import DecodeError

from tests.backends.backends import NATIVE, assert_same_written
from tests.backends.columns import assert_same_column
from tests.backends.indexes import assert_same_index
from tests.backends.responses import assert_same_split
from tests.fuzz.documents import assert_consistent_document
from tests.support.parts import assert_reads_like_its_parts, assert_same_parts
from tests.support.snapshots import Raised, outcome, snapshot, whole
from tests.support.stock import EntityMessage, stock_entity

_stock_from_raw: Any = importlib.import_module("lazyentity.native.entities").stock_from_raw


def check(raw: bytes) -> None:
    """Check every read of ``raw``: as an entity, a response, an ``EntityProto``, and a document.

    Raises:
        AssertionError: a promise is broken.
    """
    check_entity(raw)
    assert_same_split(raw)
    assert_same_index(raw)
    assert_consistent_document(raw)


def check_entity(raw: bytes) -> None:
    """Check ``raw``, taken for an entity; raises as :func:`check` does."""
    stock = outcome(lambda: whole(stock_entity(raw)))
    assert outcome(lambda: whole(_stock_from_raw(raw))) == stock
    names = outcome(lambda: tuple(NATIVE.from_bytes(raw)))
    assert_same_column("native", raw, () if isinstance(names, Raised) else names)
    message = outcome(lambda: EntityMessage.FromString(raw))
    if isinstance(message, Raised):
        assert message.kind is DecodeError
        assert_reads_like_its_parts(NATIVE, raw)
        return
    assert_same_written(raw)
    assert_same_parts(NATIVE.from_bytes(raw), message)
    if not isinstance(stock, Raised):
        assert snapshot(NATIVE.from_bytes(raw)) == stock[0]
