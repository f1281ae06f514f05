"""What is promised for any bytes that are taken for an entity, or for a read response.

Protobuf's parser and the stock client are the judges wherever they accept the bytes. What they
refuse as a whole a lazy entity may still give in part: there the pure backend is the judge.
"""

from __future__ import annotations

from google.protobuf.message import DecodeError

from tests.entity.parts import assert_same_parts
from tests.entity.snapshots import Raised, outcome, snapshot
from tests.entity.stock import EntityMessage, stock_entity
from tests.native.backends import NATIVE, assert_same_access, assert_same_written
from tests.native.responses import assert_same_split


def check(raw: bytes) -> None:
    """Check everything that can be read of ``raw``, as whatever it is taken for.

    Raises:
        AssertionError: a promise is broken.
    """
    check_entity(raw)
    assert_same_split(raw)


def check_entity(raw: bytes) -> None:
    """Check ``raw``, taken for an entity; raises as :func:`check` does."""
    message = outcome(lambda: EntityMessage.FromString(raw))
    if isinstance(message, Raised):
        assert message.kind is DecodeError
        assert_same_access(raw, malformed=True)
        return
    assert_same_written(raw)
    assert_same_parts(NATIVE.from_bytes(raw), message)
    stock = outcome(lambda: snapshot(stock_entity(raw)))
    if not isinstance(stock, Raised):
        assert snapshot(NATIVE.from_bytes(raw)) == stock
