"""Generated documents of Python values, and the client's writes."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import zoneinfo
from collections.abc import Callable
from typing import Any

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud import firestore
from google.cloud.firestore_v1 import _helpers, vector
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import strategies as st

DOCUMENT = "projects/p/databases/(default)/documents/things/one"
UTC = datetime.timezone.utc

# The client's own, whatever is patched later.
STOCK: dict[str, Callable[..., Any]] = {
    name: getattr(_helpers, f"pbs_for_{name}")
    for name in ("create", "set_no_merge", "set_with_merge", "update")
}


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


class Reference(firestore.DocumentReference):
    """A reference of an application's class."""


class Client:
    """As much of a client as a reference needs."""

    _database_string = "projects/p/databases/(default)"


class Point(firestore.GeoPoint):
    """A point of an application's class."""


def _reference(kind: type[Any], is_known: bool) -> Any:
    made = kind("things", "two", client=Client())
    assert not is_known or made._document_path.endswith("/two")
    return made


ZONES = (
    None,
    UTC,
    datetime.timezone(datetime.timedelta(hours=5, minutes=30)),
    zoneinfo.ZoneInfo("Europe/Berlin"),
)
_dates = st.datetimes(timezones=st.sampled_from(ZONES)) | st.sampled_from(
    [
        datetime.datetime.min,
        datetime.datetime.max.replace(tzinfo=UTC),
        datetime.datetime(1969, 12, 31, 23, 59, 59, 500_000),
        datetime.datetime(2106, 2, 7, 6, 28, 16, 999_999, tzinfo=UTC),
    ]
)


def _with_nanoseconds(when: datetime.datetime, nanosecond: int | None) -> Any:
    made: Any = DatetimeWithNanoseconds(*when.timetuple()[:6], when.microsecond, when.tzinfo)
    if nanosecond is not None:
        made._nanosecond = nanosecond
    return made


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=4),
    st.sampled_from(["x" * 127, "x" * 128, "é" * 200, b"x" * 3000]),
    _dates,
    st.builds(_with_nanoseconds, _dates, st.sampled_from([None, 0, 1, 123_456_789, 10**9, -1])),
    st.builds(firestore.GeoPoint, st.floats(-90, 90), st.floats(-180, 180)),
    st.builds(
        _reference,
        st.sampled_from([firestore.DocumentReference, firestore.AsyncDocumentReference, Reference]),
        st.booleans(),
    ),
    st.lists(st.floats(), max_size=3).map(vector.Vector),
    st.just(vector.Vector([0.5] * 70)),
)

_rare = st.one_of(
    st.sampled_from([2**63, -(2**63) - 1, "\ud800", Number.ONE, Text("text"), {1, 2}]),
    st.sampled_from([frozenset("a"), bytearray(b"a"), decimal.Decimal(1), object, 1j]),
    st.sampled_from([firestore.GeoPoint(1, 2), Point(1.5, 2.5), firestore.GeoPoint("a", None)]),
    st.builds(dict, st.just({1: 2})),
    st.just(collections.OrderedDict(a=1)),
    st.builds(lambda: collections.defaultdict(list, a=[1])),
    st.just(firestore.DocumentReference("things", "two")),
    st.sampled_from([firestore.SERVER_TIMESTAMP, firestore.DELETE_FIELD]),
    st.builds(firestore.ArrayUnion, st.lists(LEAVES, min_size=1, max_size=2)),
    st.builds(firestore.ArrayRemove, st.lists(LEAVES, min_size=1, max_size=2)),
    st.sampled_from([firestore.Increment, firestore.Maximum, firestore.Minimum]).flatmap(
        lambda kind: st.builds(kind, st.one_of(st.integers(-9, 9), st.just(2**63)))
    ),
)
_names = st.one_of(
    st.sampled_from(["a", "b", "c", "_d1", "aa", "B"]),
    st.sampled_from(["a.b", "a.c", "a.b.c", "b.a", "1", "ä", "`", "a b", "__name__", "a-", "a\n"]),
    st.text(min_size=1, max_size=3),
)
_odd_names = st.sampled_from(["", "\ud800", 1, None, Text("text"), ".", "a.", "*", ("a",)])


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    lists = st.lists(inner, max_size=3)
    return st.one_of(lists, lists.map(tuple), st.dictionaries(_names, inner, max_size=3))


_usual = st.recursive(LEAVES, _containers, max_leaves=8)
_unusual = st.recursive(
    st.one_of(LEAVES, LEAVES, LEAVES, _rare),
    lambda inner: st.one_of(
        _containers(inner),
        st.dictionaries(st.one_of(_names, _names, _odd_names), inner, max_size=3),
    ),
    max_leaves=8,
)
_top_names = st.one_of(_names, _names, _names, _odd_names)
DOCUMENTS = st.one_of(
    st.dictionaries(_names, _usual, max_size=5),
    st.dictionaries(st.sampled_from("abcdef"), _usual, max_size=5),
    st.dictionaries(st.sampled_from("abcdef"), st.one_of(_usual, _rare), max_size=5),
    st.dictionaries(_top_names, _unusual, max_size=4),
    st.just(collections.OrderedDict(b=1, a=2)),
)
"""Documents to write; some are refused, or are encoded by the client's code."""

MERGES = st.one_of(st.just(True), st.lists(st.sampled_from(["a", "b", "a.b", "c"]), max_size=2))
OPTIONS = st.sampled_from(
    [
        None,
        _helpers.ExistsOption(True),
        _helpers.LastUpdateOption(Timestamp(seconds=1, nanos=2)),
    ]
)
CALLS = st.one_of(
    st.tuples(st.sampled_from(["create", "set_no_merge"])),
    st.tuples(st.just("set_with_merge"), MERGES),
    st.tuples(st.just("update"), OPTIONS),
)
"""Each: the end of the name of a function, and its last argument."""


def result(make: Callable[..., Any], *arguments: Any) -> Any:
    """Return the serialised writes that a function makes; its error otherwise."""
    try:
        writes = make(*arguments)
        return [write._pb.SerializeToString(deterministic=True) for write in writes]
    except Exception as error:  # noqa: BLE001  # it is compared
        return type(error), str(error)


def now(name: str) -> Callable[..., Any]:
    """Return the function that the client calls now."""
    function: Callable[..., Any] = getattr(_helpers, f"pbs_for_{name}")
    return function
