"""The native backend splits read responses as the pure one does."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.datastore_v1.types import entity as entity_pb2
from hypothesis import given
from hypothesis import strategies as st

from lazyentity import LazyEntity, materialize
from lazyentity.pure import responses
from tests.backends.backends import NATIVE
from tests.backends.responses import SPLITTERS, assert_same_split, converted, native_results
from tests.fuzz.seeds import RESPONSES, nested_groups
from tests.support.snapshots import Raised, outcome
from tests.support.strategies import wire
from tests.support.strategies.samples import RICH

pytestmark = pytest.mark.any_backend

LAZY = native_results.EntityReader(NATIVE, materialize)
mapping: Any = importlib.import_module("lazyentity.native.entities")


@pytest.mark.parametrize("raw", RESPONSES)
def test_responses(raw: bytes) -> None:
    """Both backends find the same results, entities and rest in responses that servers send."""
    assert_same_split(raw)


@given(raw=st.sampled_from(RESPONSES), data=st.data())
def test_torn_responses(raw: bytes, data: st.DataObject) -> None:
    """Both backends split a response with a byte changed or its end missing alike, or refuse it."""
    raw = raw[: data.draw(st.integers(1, len(raw)))]
    at = data.draw(st.integers(0, len(raw) - 1))
    assert_same_split(raw[:at] + bytes([data.draw(st.integers(0, 255))]) + raw[at + 1 :])


@pytest.mark.parametrize(
    "raw",
    [
        RESPONSES[1] + RESPONSES[0],
        wire.encode([wire.message(1, wire.delimited(1, RICH), wire.delimited(1, RICH))]),
        wire.encode(
            [wire.message(1, wire.Field(9, wire.START_GROUP, b""), wire.delimited(1, b""))]
        ),
        wire.encode([wire.Field(2, wire.VARINT, b"\x01"), wire.message(1)]),
        wire.encode([wire.delimited(1, RICH)._replace(padding=3)]),
        wire.encode(
            [wire.message(1, wire.delimited(3, b"1"), wire.delimited(3, b"2")._replace(padding=3))]
        ),
        wire.encode([wire.message(1, wire.Field(3, wire.VARINT, b"\x05"))]),
    ],
    ids=[
        *("merged", "two entities", "group", "other wire type", "padded"),
        *("two cursors", "a cursor of another wire type"),
    ],
)
def test_odd_responses(raw: bytes) -> None:
    """Both backends split legal responses that no serialiser writes alike."""
    assert_same_split(raw)


_AROUND_GROUPS: dict[str, Callable[[wire.Field], list[wire.Field]]] = {
    "response": lambda groups: [groups, wire.message(1, wire.delimited(1, RICH))],
    "found": lambda groups: [wire.message(1, wire.delimited(1, RICH), groups)],
    "result of a batch": lambda groups: [wire.message(1, wire.message(2, groups))],
}


@pytest.mark.parametrize("depth", [1, 4, 5, 96, 97, 98, 99, 100, 101])
@pytest.mark.parametrize("around", _AROUND_GROUPS)
def test_groups_in_groups(around: str, depth: int) -> None:
    """Stock refuses deep ones, counted from the response, whatever part of it they are in."""
    groups = nested_groups(depth)
    raw = wire.encode(_AROUND_GROUPS[around](groups))
    assert_same_split(raw)
    messages = datastore_pb2.LookupResponse.pb(), datastore_pb2.RunQueryResponse.pb()
    for split, message_type in zip(SPLITTERS.values(), messages, strict=True):
        native = outcome(partial(split, native_results, raw))
        stock = outcome(partial(message_type.FromString, raw))
        assert isinstance(native, Raised) == isinstance(stock, Raised)


@pytest.mark.parametrize("split", [native_results.split_lookup, native_results.split_query])
@pytest.mark.parametrize("given", [None, "text", bytearray(b"\x0a\x00")])
def test_other_types_than_bytes(split: Any, given: Any) -> None:
    with pytest.raises(TypeError):
        split(given, native_results.ReadRpc(), native_results.ResultBytes)


def test_the_responses_are_what_they_are_taken_for() -> None:
    """The samples have results: comparing empty responses would prove nothing."""
    assert len(datastore_pb2.LookupResponse.deserialize(RESPONSES[0]).found) == 2
    assert len(datastore_pb2.RunQueryResponse.deserialize(RESPONSES[1]).batch.entity_results) == 2


def test_keys_of_servers() -> None:
    """Both backends find the key without parsing it in responses that servers send."""
    key = entity_pb2.Entity.deserialize(RICH).key._pb.SerializeToString()
    for module in (native_results, responses):
        entity = module.EntityBytes.__new__(module.EntityBytes)
        entity._receive(RICH, module.ReadRpc())
        assert entity.serialised_key == key


@pytest.mark.parametrize("asked", [None, ()])
def test_entities_that_are_converted_together(asked: Any) -> None:
    """Both backends take the results whose keys were asked for, each once, and leave the others."""
    found = datastore_pb2.LookupResponse.deserialize(RESPONSES[0]).found
    for raw in (RESPONSES[0], RESPONSES[0] * 2):
        native = converted(native_results, raw, asked)
        assert native == converted(responses, raw, asked)
        keys = {one.entity.key._pb.SerializeToString() for one in found} if asked is None else set()
        assert native.entities.keys() == keys
        assert len(native.left) == len(raw) // len(RESPONSES[0]) * len(found) - len(keys)
        assert native.pending == []


@given(data=st.data())
def test_torn_entities_that_are_converted_together(data: st.DataObject) -> None:
    """The native backend leaves more: results in an encoding that no server sends."""
    raw = RESPONSES[0]
    asked = list(converted(responses, raw).entities)
    at = data.draw(st.integers(0, len(raw) - 1))
    raw = raw[:at] + bytes([data.draw(st.integers(0, 255))]) + raw[at + 1 :]
    native = outcome(lambda: converted(native_results, raw, asked))
    pure = outcome(lambda: converted(responses, raw, asked))
    if isinstance(native, Raised) or isinstance(pure, Raised):
        assert isinstance(pure, Raised)
        return
    assert native.entities.keys() <= pure.entities.keys()
    for one in (native, pure):
        assert {*one.entities, *one.pending} == set(asked)
    assert len(native.left) + len(native.entities) == len(pure.left) + len(pure.entities)


def test_entities_that_fail_are_left() -> None:
    """The caller converts them again, and gets the error."""

    def refuse(raw: bytes) -> Any:
        raise ValueError("refused")

    for module in (native_results, responses):
        lazy = module.EntityReader(LazyEntity, refuse)
        stock = module.EntityReader(LazyEntity, refuse, is_stock=True)
        rpc = module.ReadRpc()
        _, found, _ = module.split_lookup(RESPONSES[0], rpc, module.ResultBytes)
        pending = {result.entity.serialised_key: None for result in found}
        asked, entities = list(pending), dict[bytes, Any]()
        assert module.convert_found(stock, entities, found, pending) == list(found)
        assert (entities, list(pending)) == ({}, asked)
        rpc.reader = stock
        assert module.convert_found(lazy, entities, found, pending) == list(found)


@pytest.mark.parametrize("wrong", [None, b"", responses.ResultBytes()])
def test_other_types_than_results(wrong: Any) -> None:
    with pytest.raises(TypeError):
        native_results.convert_found(LAZY, {}, (wrong,), {})
    empty = native_results.ResultBytes.__new__(native_results.ResultBytes)
    assert native_results.convert_found(LAZY, {}, (empty,), {b"": None}) == [empty]


def test_bytes_that_came_with_no_response() -> None:
    """Empty bytes of an entity or result, which no response filled, refuse to convert."""
    empty = native_results.EntityBytes.__new__(native_results.EntityBytes)
    assert empty.raw == b""
    assert empty.serialised_key is None
    with pytest.raises(TypeError):
        empty.read(LAZY)
    with pytest.raises(TypeError):
        native_results.ViewAs(None)
    with pytest.raises(TypeError):
        native_results.ViewAs(dict).__get__(empty, None)
    with pytest.raises(TypeError):
        native_results.ViewAs(native_results.EntityBytes).__get__("", None)
    result = native_results.ResultBytes.__new__(native_results.ResultBytes)
    assert result.serialised() == b""
    with pytest.raises(TypeError):
        _ = result.entity


@pytest.mark.parametrize("kind", [None, 5, dict])
def test_other_classes_than_mappings(kind: Any) -> None:
    """An entity is only made from a class of lazy mappings."""
    with pytest.raises(TypeError):
        vars(mapping.LazyMapping)["_from_raw"].__get__(None, kind)(RICH)
