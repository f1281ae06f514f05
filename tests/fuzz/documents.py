"""Documents, read natively from any bytes; tests/patches/firestore compares them with the client's.

The classes here take the place of the client's, which need not be installed.
"""

from __future__ import annotations

import datetime
from typing import Any

from google.protobuf.message import DecodeError

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.native.documents import DocumentBytes, DocumentCodec
from tests.support.strategies.wire import delimited, double, encode, integer, message

READ_TIME = 3


class _Timestamp(datetime.datetime):
    """As the client's class of timestamps."""

    __slots__ = ("_nanosecond",)

    _nanosecond: int


class _Point:
    """As the client's class of points."""

    def __init__(self, latitude: float, longitude: float) -> None:
        self.latitude, self.longitude = latitude, longitude


class _Vector:
    """As the client's class of vectors."""


def _refuse(*_: Any) -> Any:
    raise DecodeError("left to the client")


_ERRORS = ArithmeticError, DecodeError, LookupError, TypeError, ValueError
_CODEC = DocumentCodec(
    geo_point=_Point,
    references=(),
    vector=_Vector,
    timestamp=_Timestamp,
    reference=lambda name, client: name,
    field=_refuse,
    document=_refuse,
    errors=_ERRORS,
    other=bytes,
    server_timestamp=None,
    transforms=(),
    for_client=(),
)


def _described(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _described(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_described(item) for item in value]
    if isinstance(value, (_Point, _Vector)):
        return _described(vars(value))
    return type(value), repr(value)


def _outcome(call: Any) -> Any:
    try:
        return _described(call())
    except _ERRORS as error:
        return type(error)


def sample() -> Any:
    """Return fields of which nothing is decoded."""
    return DocumentBytes.from_bytes(SAMPLE, READ_TIME).fields(_CODEC, None)


def assert_consistent_document(raw: bytes) -> None:
    """Read bytes, taken for a response with a document: as a whole, again, and field by field.

    Raises:
        AssertionError: the results differ.
    """
    mine = DocumentBytes.from_bytes(raw, READ_TIME)
    if mine is None:
        return
    mine.times()
    one, other = mine.fields(_CODEC, None), mine.fields(_CODEC, None)
    whole, names = _outcome(one.to_dict), _outcome(lambda: list(other.names()))
    assert _outcome(one.to_dict) == whole
    if type(whole) is dict:
        assert other.get(["nope", "a"]) is UNDECODED
        assert [name for _, name in names] == [repr(name) for name in whole]
        for name, value in whole.items():
            assert _outcome(lambda: other.get([name])) == value  # noqa: B023  # called at once


def _field(name: str, *value: Any) -> Any:
    return message(2, delimited(1, name), message(2, *value))


def _map(*fields: Any) -> Any:
    # The fields of a map have another number than those of a document.
    return message(6, *(field._replace(number=1) for field in fields))


_NAME = "projects/p/databases/d/documents/a/b"
SAMPLE = encode(
    [
        message(
            1,
            delimited(1, _NAME),
            _field("a", _map(_field("b", message(9, message(1, double(3, -0.0)))))),
            _field("maps", _map(_field("a", _map(_field("é", delimited(17, "text ä")))))),
            _field("none", integer(11, 0)),
            _field("flag", integer(1, 1)),
            _field("integer", integer(2, -(2**63))),
            _field("when", message(10, integer(1, 5), integer(2, 123_456_789))),
            _field("bytes", delimited(18, b"\0\xff")),
            _field("reference", delimited(5, _NAME)),
            _field("point", message(8, double(1, 1.5))),
            _field(
                "vector",
                _map(
                    _field("__type__", delimited(17, "__vector__")),
                    _field("value", message(9, message(1, double(3, 1.5)))),
                ),
            ),
            message(3, integer(1, -1)),
            message(4, integer(1, 1)),
        ),
        message(READ_TIME, integer(1, 1_700_000_000), integer(2, 123_456_000)),
        integer(4, 1),
    ]
)
"""A response with a document of every type, and maps in each other."""
