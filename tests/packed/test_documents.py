"""The values that a document may have, changes of these meanwhile, and the errors of others."""

from __future__ import annotations

import collections
import datetime
import enum
from typing import Any

import orjson
import pytest
from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud.datastore import Entity, Key
from google.cloud.datastore.helpers import GeoPoint

from lazyentity.codec.values import MAX_CONTAINERS
from lazyentity.packed import UnpackError, pack, unpack
from tests.support import hostile
from tests.support.changing import meanwhile
from tests.support.snapshots import Raised, outcome

UTC = datetime.timezone.utc
_FRACTION = datetime.timezone(datetime.timedelta(microseconds=1))


class Colour(str, enum.Enum):
    RED = "red"


class Text(str):
    __slots__ = ()


def nested(depth: int, leaf: Any = None) -> Any:
    value = leaf
    for _ in range(depth):
        value = [value]
    return value


def nested_sets(depth: int) -> frozenset[Any]:
    value: frozenset[Any] = frozenset()
    for _ in range(depth - 1):
        value = frozenset([value])
    return value


CYCLE: list[Any] = []

CYCLE.append(CYCLE)

# Each level twice: to follow every path would take for ever.
BRANCHES: list[Any] = []

BRANCHES.extend((BRANCHES, BRANCHES))


class _Missing(datetime.datetime):
    """As the missing timestamp of pandas: equal to nothing, and without a time."""

    __hash__ = datetime.datetime.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def utcoffset(self) -> Any:
        raise ValueError("Missing does not support utcoffset")


REFUSED: dict[str, tuple[Any, str]] = {
    "missing timestamp": ({"a": [_Missing(1, 1, 1)]}, "value['a'][0] cannot be packed: it is a"),
    "nested": ({"a": [1, {"b": 2j}]}, "value['a'][1]['b'] cannot be packed"),
    "beside a tag": ([b"", {"x": 2j}], "value[1]['x'] cannot be packed"),
    "tuple": ({"a": (1, 2)}, "value['a'] cannot be packed: it is a value of type tuple"),
    "enum": ([Colour.RED], "value[0] cannot be packed"),
    "subclass": ([Text("x")], "value[0] cannot be packed"),
    "ordered": (collections.OrderedDict(a=1), "of type collections.OrderedDict"),
    "fragment": ([orjson.Fragment(b"1")], "value[0] cannot be packed"),
    "nan": ({"a": float("nan")}, "value['a'] cannot be packed: it is the float nan"),
    "infinity": ([float("-inf")], "it is the float -inf"),
    "key": ({"a": {1: 2}}, "value['a'][1] cannot be packed: it is under a key of type int"),
    "large": ({"a": 2**64}, "value['a'] cannot be packed: it is an int of more than 64 bits"),
    "small": ([-(2**63) - 1], "value[0] cannot be packed: it is an int of more than 64 bits"),
    "surrogate": ({"a": "\ud800"}, "value['a'] cannot be packed: it is a string with a lone"),
    "surrogate key": ({"\ud800": 1}, "it is a string with a lone surrogate"),
    "naive": ({"at": datetime.datetime(2024, 1, 1)}, "it is a datetime without a time zone"),
    "fraction of a second from UTC": (
        {"at": datetime.datetime(2024, 1, 1, tzinfo=_FRACTION)},
        "it is a datetime whose offset from UTC is not of whole seconds",
    ),
    "nanoseconds": (
        [DatetimeWithNanoseconds(2024, 1, 1, nanosecond=1, tzinfo=UTC)],
        "digits beyond microseconds",
    ),
    "entity with a key": (
        {"a": Entity(Key("A", 1, project="p"))},
        "value['a'] cannot be packed: it is an entity with a key",
    ),
    "key value": ([Key("A", 1, project="p")], "google.cloud.datastore.key.Key"),
    "place": ([GeoPoint(1, 2)], "value[0] cannot be packed"),
    "in a set": ([{(1, 2)}], "value[0][0] cannot be packed: it is a value of type tuple"),
    "bytearray": ([bytearray(b"x")], "value[0] cannot be packed"),
    "deep": (nested(MAX_CONTAINERS + 1), f"more than {MAX_CONTAINERS} containers deep"),
    "deep in tags": (
        nested_sets(MAX_CONTAINERS // 3 + 2),
        f"more than {MAX_CONTAINERS} containers deep",
    ),
    "cycle": (CYCLE, f"more than {MAX_CONTAINERS} containers deep"),
    "branching cycle": (BRANCHES, f"more than {MAX_CONTAINERS} containers deep"),
}


@pytest.mark.parametrize(("value", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(value: Any, text: str) -> None:
    """Any other value is a TypeError that names it and its path."""
    with pytest.raises(TypeError) as raised:
        pack(value)
    assert text in str(raised.value)


def test_depth() -> None:
    for leaf in (None, b"tagged"):
        deep = nested(MAX_CONTAINERS - 1, leaf)
        assert unpack(pack(deep)) == deep
    sets = nested_sets(MAX_CONTAINERS // 3)
    assert unpack(pack(sets)) == sets


def test_timestamps_of_the_client() -> None:
    """A timestamp as the client reads it comes back as a plain datetime of the same time."""
    at = DatetimeWithNanoseconds(2024, 5, 6, 7, 8, 9, nanosecond=123456000, tzinfo=UTC)
    found = unpack(pack({"at": at}))["at"]
    assert type(found) is datetime.datetime
    assert found == at
    assert found.utcoffset() == datetime.timedelta(0)


def test_entities_become_dicts() -> None:
    inner = Entity(exclude_from_indexes=("a",))
    inner.update({"a": 1, "list": [Entity()]})
    assert unpack(pack({"inner": inner})) == {"inner": {"a": 1, "list": [{}]}}


@pytest.mark.parametrize(
    "tag",
    [
        '["datetime", "yesterday"]',
        '["datetime", 1]',
        '["datetime", "2024-05-06T07:08:09"]',
        '["bytes", "*"]',
        '["bytes", null]',
        '["set", [[1]]]',
        '["dict", [1]]',
        '["set", "ab"]',
        '["frozenset", 7]',
        '["frozenset", {"a": 1}]',
        '["colour", "red"]',
        '["dict"]',
        "7",
        "[[], 1]",
    ],
)
def test_malformed_tags(tag: str) -> None:
    """A tag that was not written by this version is an error that shows it."""
    payload = f'[{{"$": {tag}}}]'.encode()
    header = b"\xf5L\x01\x10" + len(payload).to_bytes(4, "little")
    with pytest.raises(UnpackError, match="truncated or damaged") as raised:
        unpack(header + payload)
    assert "tag" in str(raised.value)


def test_documents_that_nest_without_end() -> None:
    """Contents of more levels than pack() writes are an error, not a crash."""
    payload = b"[" * 1020 + b"]" * 1020
    header = b"\xf5L\x01\x10" + len(payload).to_bytes(4, "little")
    found = outcome(unpack, header + payload)
    assert not isinstance(found, Raised) or found.kind is UnpackError


@pytest.mark.parametrize("sort", hostile.TEXTLESS)
def test_the_error_of_a_value_without_a_text(sort: str) -> None:
    """It names the place and the type, also under a key without a text."""
    value = hostile.VALUES[sort]()
    with pytest.raises(TypeError, match=r"value\['a'\] cannot be packed: it is a value of type"):
        pack({"a": value})
    with pytest.raises(TypeError, match=r"value\[.*\] cannot be packed: it is under a key of type"):
        pack({value: 1})


_STAYING = {f"stay{number}": number for number in range(30)}

AT = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)


@pytest.mark.parametrize("tags", [{}, {"at": AT}], ids=["plain", "tagged"])
@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_a_document(tags: dict[str, Any]) -> None:
    """Each packed document has all keys that nobody took out."""
    document: dict[str, Any] = {"moving": [], **_STAYING, **tags}

    def change(turn: int) -> None:
        moving = document.pop("moving")
        moving.append(turn)
        document["moving"] = moving[-40:]

    def act() -> None:
        for packed in [pack([document, document]) for _ in range(1_000)]:
            for unpacked in unpack(packed):
                unpacked.pop("moving", None)
                assert unpacked == {**_STAYING, **tags}

    meanwhile(change, act)
