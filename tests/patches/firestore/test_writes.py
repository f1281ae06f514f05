"""Writes: the messages and the errors are the stock client's."""

from __future__ import annotations

import copy
import datetime
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import firestore
from google.cloud.firestore_v1 import _helpers, vector
from google.cloud.firestore_v1.types import firestore as types, write as write_pb2
from hypothesis import example, given, settings

import lazyentity
from lazyentity.patches.firestore import messages
from lazyentity.patches.firestore.messages import raw_of
from tests.patches.firestore import written
from tests.patches.firestore.written import DOCUMENT, STOCK, now, result
from tests.support.changing import meanwhile

PLAIN = {"a": 1, "b": {"c": ["text", {"e": None}], "d": {}}, "e.f": 2.5}
SIMPLE = {"a": 1, "b": {"c": ["text"], "d": {}}, "x.y": 1, "x.z": b"", "x.w.v": True}
WRITES: dict[str, tuple[Any, ...]] = {
    "create": (PLAIN,),
    "set_no_merge": (PLAIN,),
    "set_with_merge": (PLAIN, True),
    "update": (SIMPLE, None),
}


@pytest.fixture(autouse=True)
def _patched() -> None:
    lazyentity.patch("firestore", strict=True)


@settings(max_examples=400)
@given(call=written.CALLS, document=written.DOCUMENTS)
@example(call=("create",), document={"a": None, 1: firestore.SERVER_TIMESTAMP})
@example(call=("create",), document={"\ud800": 1})
@example(call=("set_no_merge",), document={"": firestore.SERVER_TIMESTAMP, "a": 2**63})
@example(
    call=("set_no_merge",), document={"": 1, "b": 2, "s": firestore.SERVER_TIMESTAMP, "a": 2**63}
)
@example(call=("set_with_merge", True), document={"a": {1: 2}})
@example(call=("create",), document={"a": [{"": None}]})
@example(call=("create",), document={"b": object(), "a": 2**63})
# The client's own code encodes field masks of some fields, removals, and transforms in maps.
@example(call=("set_no_merge",), document={"a": {"b": firestore.SERVER_TIMESTAMP}})
@example(call=("set_no_merge",), document={"a": firestore.SERVER_TIMESTAMP})
@example(call=("set_no_merge",), document={})
@example(call=("set_with_merge", ["a"]), document={"a": 1})
@example(call=("set_with_merge", True), document={"a": 1, "b": firestore.DELETE_FIELD})
@example(call=("set_with_merge", True), document={})
@example(call=("update", None), document={"a": firestore.DELETE_FIELD, "b": 1})
@example(call=("update", _helpers.ExistsOption(True)), document={"a": 1})
@example(call=("update", None), document={"`a b`.c": 1})
def test_any_document(call: tuple[Any, ...], document: Any) -> None:
    """The message parses to the client's, or the error is the client's."""
    name, *rest = call
    # A defaultdict has the fields to merge after the client has looked for them once.
    _, expected = (result(STOCK[name], DOCUMENT, document, *rest) for _ in "12")
    assert result(now(name), DOCUMENT, document, *rest) == expected


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize(
    "value",
    [
        None,
        vector.Vector([1.0, 2.0]),
        firestore.GeoPoint(1.5, 2.5),
        written.Number.ONE,
        datetime.datetime(2024, 5, 6, tzinfo=written.ZONES[-1]),
        (1, [2]),
        {"deep": [written.Text("text"), {"set": {1}}]},
        firestore.SERVER_TIMESTAMP,
        firestore.ArrayUnion([1, {"a": 2}]),
        firestore.Increment(1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_bytes_are_kept(name: str, value: Any) -> None:
    """Nothing is parsed, and the bytes are as short as protobuf's."""
    fields, *rest = WRITES[name]
    if name == "update":
        fields = {"a": 1, "b": {"c": 2}}
    fields = {**fields, "value": value}
    (write,) = now(name)(DOCUMENT, fields, *rest)
    raw = raw_of(write)
    assert raw is not None
    (stock,) = STOCK[name](DOCUMENT, fields, *rest)
    assert len(raw) == len(stock._pb.SerializeToString())
    assert write_pb2.Write.deserialize(raw) == stock


@pytest.mark.parametrize("name", WRITES)
def test_messages_are_plain_ones(name: str) -> None:
    """Of the client's classes, with all that these can do."""
    fields, *rest = WRITES[name]
    (stock,) = STOCK[name](DOCUMENT, fields, *rest)

    def made() -> Any:
        (write,) = now(name)(DOCUMENT, fields, *rest)
        assert type(write) is write_pb2.Write
        return write

    assert stock == made() == stock
    assert pickle.loads(pickle.dumps(made())) == stock
    for duplicate in (copy.copy, copy.deepcopy):
        assert duplicate(made()) == stock
    assert made().update.fields["a"].integer_value == 1
    assert "update" in made()
    assert bool(made())
    assert write_pb2.Write.pb(made()) == stock._pb
    assert write_pb2.Write.to_dict(made()) == write_pb2.Write.to_dict(stock)
    assert types.CommitRequest(writes=[made()]).writes[0] == write_pb2.Write(made()) == stock
    assert sorted(repr(made())) == sorted(repr(stock))


@pytest.mark.parametrize("transaction", [None, b"transaction"])
def test_requests(transaction: bytes | None) -> None:
    writes = now("create")(DOCUMENT, PLAIN)
    request = {"database": "d", "writes": writes, "transaction": transaction}
    made = messages.lazy_request(types.CommitRequest, request)
    assert raw_of(made) is not None
    assert made == types.CommitRequest(request)


def test_nothing_is_parsed_to_be_sent(side: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    original = messages._Parsed.__get__

    def get(self: Any, message: Any, owner: Any) -> Any:
        parsed.append(owner)
        return original(self, message, owner)

    monkeypatch.setattr(messages._Parsed, "__get__", get)
    reference = side.client.document("things/one")
    side.one(lambda: reference.set(PLAIN))
    side.one(lambda: reference.update(SIMPLE))
    side.one(lambda: side.client.collection("things").add(PLAIN, "two"))
    assert parsed == []
    assert side.one(reference.get).get("a") == 1


@pytest.mark.parametrize("depth", [20, 27, 28, 29, 30, 31, 40, 45, 60])
@pytest.mark.parametrize("name", ["create", "set_no_merge"])
def test_deep_values(name: str, depth: int) -> None:
    """The client gets documents that are nested deeper than protobuf's messages may be."""
    wraps: list[Callable[[Any], Any]] = [
        lambda value: [value],
        lambda value: {"a": value},
        lambda value: [{"a": value}],
        lambda value: (value,),
    ]
    for wrap in wraps:
        deep: Any = 1
        for _ in range(depth):
            deep = wrap(deep)

        def sent(make: Callable[..., Any]) -> Any:
            request: Any = types.CommitRequest(
                writes=make(DOCUMENT, {"a": written.Number.ONE, "deep": deep})  # noqa: B023
            )
            return [types.CommitRequest.deserialize(types.CommitRequest.serialize(request))]

        assert result(sent, now(name)) == result(sent, STOCK[name])


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_moves_names() -> None:
    """A document loses no name that another thread takes out, and puts back at once."""
    zone = written.ZONES[-1]
    at = datetime.datetime(2024, 5, 6, tzinfo=zone)
    held: dict[str, Any] = dict.fromkeys(map(str, range(50)), at)
    fields = {"held": held, "stamp": firestore.SERVER_TIMESTAMP, **held}
    names = list(held)

    def move(turn: int) -> None:
        for name in names[turn % 4 :: 4]:
            held[name] = held.pop(name)
            fields[name] = fields.pop(name)

    def write_often() -> None:
        for _ in range(20):
            for call, *rest in (("create",), ("set_no_merge",), ("set_with_merge", True)):
                (write,) = now(call)(DOCUMENT, fields, *rest)
                raw = raw_of(write)
                document = write._pb.update
                # One is missing at a time, at most.
                assert len(document.fields["held"].map_value.fields) >= len(names) - 1
                assert len(document.fields) >= len(names)
                if rest:
                    held_fields = document.fields["held"].map_value.fields
                    count = len(document.fields) - 1 + len(held_fields)
                    assert len(write._pb.update_mask.field_paths) == count
                # And none is there twice.
                assert raw is not None
                assert len(raw) == len(write._pb.SerializeToString())

    meanwhile(move, write_often)
