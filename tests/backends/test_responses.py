"""The native backend splits read responses as the pure one does."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.protobuf.message import DecodeError
from hypothesis import given, strategies as st

from lazyentity import LazyEntity, _backend, materialize
from lazyentity.pure import entities as responses
from tests.backends.backends import NATIVE, PURE
from tests.backends.responses import SPLITTERS, assert_same_split, converted, native_results
from tests.fuzz.seeds import RESPONSES, nested_groups
from tests.support.snapshots import Raised, outcome
from tests.support.strategies import wire
from tests.support.strategies.samples import RICH

LAZY = native_results.EntityReader(NATIVE, materialize)
PURE_READER = responses.EntityReader(PURE, _backend.stock_from_raw)
# So many that neither a tuple of them nor a list is taken from a free list of CPython's.
MANY = 200


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
        results = found.results()
        pending = {entity.serialised_key: None for entity in found}
        asked, entities = list(pending), dict[bytes, Any]()
        assert module.convert_found(stock, entities, results, pending) == list(results)
        assert (entities, list(pending)) == ({}, asked)
        rpc.reader = stock
        assert module.convert_found(lazy, entities, results, pending) == list(results)


def _found(module: Any) -> Any:
    raw = RESPONSES[0] * (MANY // 2)
    _, found, _ = module.split_lookup(raw, module.ReadRpc(), module.ResultBytes)
    assert len(found) == MANY
    return found


@pytest.mark.parametrize("is_asked_first", [False, True])
def test_results_are_made_when_they_are_asked_for(is_asked_first: bool) -> None:
    """An iterator reads on, whether the results are made before, meanwhile or never."""
    for module, reader in ((native_results, LAZY), (responses, PURE_READER)):
        found = _found(module)
        if is_asked_first:
            found.results()
        iterator = iter(found)
        assert iter(iterator) is iterator
        first = iterator.read_next(reader)
        assert operator.length_hint(iterator) == MANY - 1
        results = found.results()
        assert found.results() is results
        assert results[0].read(reader) == first
        rest = [result.entity.raw for result in results[1:]]
        for copied in (copy.copy(iterator), iter(copy.copy(found)[1:])):
            assert [entity.raw for entity in copied] == rest
        assert [entity.raw for entity in iterator] == rest
        assert operator.length_hint(iterator) == 0
        for _ in range(2):
            assert next(iterator, None) is None
            with pytest.raises(StopIteration):
                iterator.read_next(reader)
        assert list(copy.copy(iterator)) == []


def test_an_entity_that_cannot_be_read_is_passed() -> None:
    """The iterator goes on behind it."""
    raw = wire.encode([wire.message(1, wire.delimited(1, raw)) for raw in (RICH, b"\x0a", RICH)])
    for module, reader in ((native_results, LAZY), (responses, PURE_READER)):
        _, found, _ = module.split_lookup(raw, module.ReadRpc(), module.ResultBytes)
        iterator = iter(found)
        first = iterator.read_next(reader)
        with pytest.raises(DecodeError):
            iterator.read_next(reader)
        assert iterator.read_next(reader) == first
        assert operator.length_hint(iterator) == 0


_TIMES = {
    "usual": b"\x08\x05\x10\x07",
    "empty": b"",
    "unknown field": b"\x18\x01",
    "negative": b"\x08" + b"\xff" * 9 + b"\x01",
    "cut number": b"\x08\x85",
    "cut field": b"\x12\x05a",
    "no field": b"\x00\x01",
}


@pytest.mark.parametrize("time", _TIMES.values(), ids=_TIMES)
@pytest.mark.parametrize(
    "tag",
    [b"\x2a", b"\x32", b"\xaa\x00", b"\xb2\x80\x00"],
    ids=["update_time", "create_time", "long tag", "longer tag"],
)
def test_times_of_results(tag: bytes, time: bytes) -> None:
    """Both backends refuse a response for a malformed time, as the client does."""
    result = wire.encode([wire.delimited(1, RICH)]) + tag + bytes([len(time)]) + time
    raw = wire.encode([wire.delimited(1, result)])
    stock = outcome(lambda: datastore_pb2.LookupResponse.deserialize(raw))
    for module in (native_results, responses):
        split = partial(module.split_lookup, raw, module.ReadRpc(), module.ResultBytes)
        assert isinstance(outcome(split), Raised) == isinstance(stock, Raised)
    assert_same_split(raw)


def test_threads_share_an_iterator() -> None:
    """Each entity is read once, while other threads ask for the results."""
    found = _found(native_results)
    iterator = iter(found)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            read = [pool.submit(list, iterator) for _ in range(2)]
            results = [pool.submit(found.results) for _ in range(2)]
    finally:
        sys.setswitchinterval(before)
    assert sum(len(each.result()) for each in read) == MANY
    assert results[0].result() is results[1].result()


def test_an_iterator_at_its_end_keeps_no_response() -> None:
    """The client keeps the page, and with it the iterator, until it has the next one."""
    raw = RESPONSES[0] * 2
    for module, reader in ((native_results, LAZY), (responses, PURE_READER)):
        before = sys.getrefcount(raw)
        for read in (next, lambda iterator, reader=reader: iterator.read_next(reader)):
            iterator = iter(module.split_lookup(raw, module.ReadRpc(), module.ResultBytes)[1])
            for _ in range(operator.length_hint(iterator)):
                read(iterator)
            with pytest.raises(StopIteration):
                read(iterator)
            assert sys.getrefcount(raw) == before
            assert operator.length_hint(iterator) == 0
            assert list(copy.copy(iterator)) == list(iterator) == []
