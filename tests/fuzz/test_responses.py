"""Whole responses, sound and broken, read through the client's own API objects of both transports.

A lookup or a query of a patched client gives the stock client's values or raises its error: when
the response is received, or when an entity of it is read.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.protobuf.message import DecodeError
from hypothesis import given, note, strategies as st

import lazyentity
from tests.fuzz import material, patched
from tests.fuzz.canned import PROJECT, Wire
from tests.fuzz.mutation import parsed
from tests.support.parts import failures_in
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import comparable
from tests.support.strategies import wire as encoding
from tests.support.strategies.wire import Field

_FOUND, _MISSING, _DEFERRED, _BATCH = 1, 2, 3, 1
_ENTITY_IN_RESULT = 1
_RESULTS_IN_BATCH = 2
_LookupResponse: Any = datastore_pb2.LookupResponse.pb()
_QueryResponse: Any = datastore_pb2.RunQueryResponse.pb()
_NO_MORE = _QueryResponse(batch={"more_results": 3, "entity_result_type": 1}).SerializeToString()
_REFUSALS = (DecodeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Case:
    """A response, and the way to read it.

    Attributes:
        raw: the serialised response.
        transport: grpc or http.
        read: the call of the client; a name of :data:`READS`.
    """

    raw: bytes
    transport: str
    read: str


def _result(chance: random.Random, number: int) -> Field:
    """Make a result with an entity, mostly in one piece, or without an entity."""
    raw = material.changed(chance.choice(material.entities()), chance, chance.choice((0, 0, 1, 3)))
    pieces = [raw]
    if chance.random() < 0.08:
        cut = chance.randint(0, len(raw))
        pieces = [raw[:cut], raw[cut:]]
        if chance.random() < 0.7:
            pieces = [raw, chance.choice(material.entities())]
    fields = [encoding.delimited(_ENTITY_IN_RESULT, piece) for piece in pieces]
    if chance.random() < 0.02:
        fields.clear()
    if chance.random() < 0.5:
        fields.append(encoding.delimited(3, chance.randbytes(3)))
    if chance.random() < 0.5:
        fields.append(encoding.integer(4, chance.getrandbits(40)))
    if chance.random() < 0.1:
        chance.shuffle(fields)
    return encoding.message(number, *fields)


def _lookup(chance: random.Random) -> bytes:
    fields = [_result(chance, _FOUND) for _ in range(chance.randint(0, 3))]
    fields += [_result(chance, _MISSING) for _ in range(chance.randint(0, 1))]
    if chance.random() < 0.2:
        fields.append(encoding.delimited(_DEFERRED, b"\n\x03\x12\x01p\x12\x06\n\x01k\x1a\x01n"))
    if chance.random() < 0.3:
        fields.append(encoding.delimited(5, b"transaction"))
    return _arranged(fields, chance)


def _query(chance: random.Random) -> bytes:
    fields = [_result(chance, _RESULTS_IN_BATCH) for _ in range(chance.randint(0, 3))]
    fields += [encoding.integer(5, 3), encoding.integer(1, 1), encoding.delimited(4, b"end")]
    if chance.random() < 0.3:
        fields.append(encoding.integer(6, chance.randint(0, 2)))
    if chance.random() < 0.2:
        fields[-2:] = [encoding.integer(5, chance.choice((0, 1, 2, 4, 99)))]
    batch = encoding.delimited(_BATCH, _arranged(fields, chance))
    batches = [batch, batch] if chance.random() < 0.05 else [batch]
    return _arranged([*batches, encoding.delimited(5, b"tx")], chance)


def _arranged(fields: list[Field], chance: random.Random) -> bytes:
    """Encode fields: mostly in order; or in any order, some of them twice or not at all."""
    match chance.randrange(12):
        case 0:
            chance.shuffle(fields)
        case 1 if fields:
            fields.append(chance.choice(fields))
        case 2 if fields:
            fields.remove(chance.choice(fields))
        case 3:
            fields = [field._replace(padding=chance.randint(1, 3)) for field in fields]
        case 4:
            fields.insert(chance.randint(0, len(fields)), encoding.delimited(99, b"unknown"))
    return encoding.encode(fields)


def _entities_of(message: Any) -> list[Any]:
    """Return the upb messages of the entities in the upb message of a response."""
    if isinstance(message, _LookupResponse):
        return [result.entity for result in (*message.found, *message.missing)]
    return [result.entity for result in message.batch.entity_results]


def _get_multi(client: datastore.Client) -> Any:
    missing: list[Any] = []
    deferred: list[Any] = []
    key = client.key("Kind", 1)
    found = client.get_multi([key], missing=missing, deferred=deferred)
    return [snapshot(found), snapshot(missing), snapshot(deferred)]


def _fetch(client: datastore.Client) -> Any:
    results = client.query(kind="Kind").fetch()
    found = [snapshot(entity) for entity in results]
    return [found, results.next_page_token, results.num_results, results._skipped_results]


def _keys_of_query(client: datastore.Client) -> Any:
    return [snapshot(entity.key) for entity in client.query(kind="Kind").fetch(limit=2)]


def _columns(client: datastore.Client) -> Any:
    names = ["text", "number", "inner", "inners", "missing"]
    results = client.query(kind="Kind").fetch()
    made = lazyentity.columns(results, names, missing="null")
    return [snapshot(made), results.next_page_token, results.num_results]


def _lookup_message(client: datastore.Client) -> Any:
    key = client.key("Kind", 1).to_protobuf()
    message = client._datastore_api.lookup(request={"project_id": PROJECT, "keys": [key]})
    parts = [message.transaction, len(message.found), len(message.missing), len(message.deferred)]
    parts += [(result.cursor, result.version) for result in message.found]
    return [*parts, copy.copy(message)]


def _query_message(client: datastore.Client) -> Any:
    request = {"project_id": PROJECT, "partition_id": {"project_id": PROJECT}}
    message = client._datastore_api.run_query(request=request)
    batch = message.batch
    parts = [message.transaction, batch.end_cursor, batch.more_results, batch.skipped_results]
    parts += [(result.cursor, result.version) for result in batch.entity_results]
    return [*parts, copy.copy(message)]


READS: dict[str, tuple[Any, Callable[[datastore.Client], Any]]] = {
    "get_multi": (_LookupResponse, _get_multi),
    "lookup": (_LookupResponse, _lookup_message),
    "fetch": (_QueryResponse, _fetch),
    "keys of a query": (_QueryResponse, _keys_of_query),
    "columns of a query": (_QueryResponse, _columns),
    "run_query": (_QueryResponse, _query_message),
}


def _made(seed: int) -> Case:
    chance = random.Random(seed)
    read = chance.choice(list(READS))
    raw = (_lookup if READS[read][0] is _LookupResponse else _query)(chance)
    raw = material.changed(raw, chance, chance.choice((0, 0, 1, 1, 2, 4)))
    return Case(raw, chance.choice(("grpc", "http")), read)


def _read(case: Case) -> Any:
    """Read a response, with the client as it is now."""
    responses = iter((case.raw,))
    wire = Wire(lambda request: next(responses, _NO_MORE))
    _, read_by = READS[case.read]
    return outcome(read_by, wire.client(case.transport))


# proto-plus warns of an enum with a value of later versions.
@pytest.mark.filterwarnings("ignore::UserWarning:proto")
@patched.few
@given(seeds=st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=16))
def test_responses(seeds: list[int]) -> None:
    """Each read gives stock's values or error."""
    batch = [_made(seed) for seed in seeds]
    with patched.clients():
        done = [_read(case) for case in batch]
    for case, each in zip(batch, done, strict=True):
        note(str(case))
        _compare(case, each)


def _compare(case: Case, lazy: Any) -> None:
    expected = _read(case)
    if isinstance(expected, Raised):
        _assert_refused(lazy, expected, case)
    elif isinstance(lazy, list) and case.read in ("lookup", "run_query"):
        (*ours, message), (*theirs, expected_message) = lazy, expected
        assert ours == theirs, f"{case.read}: {ours} is not {theirs}"
        # Not by ==: a NaN is equal to none.
        sides = [comparable(type(side).pb(side)) for side in (message, expected_message)]
        assert sides[0] == sides[1], f"{case.read}: {sides}"
    else:
        assert lazy == expected, f"{case.read}: {lazy} is not {expected}"


def _assert_refused(lazy: Any, expected: Raised, case: Case) -> None:
    response_type, _ = READS[case.read]
    message = outcome(response_type.FromString, case.raw)
    if isinstance(message, Raised):
        # On receipt, only the parts around the results are checked.
        around = _without_results(case.raw, response_type)
        if isinstance(outcome(response_type.FromString, around), Raised):
            assert isinstance(lazy, Raised), f"{case.read}: {lazy} in place of {expected}"
            assert issubclass(lazy.kind, DecodeError), f"{case.read}: {lazy} is not {expected}"
        elif isinstance(lazy, Raised):
            assert issubclass(lazy.kind, _REFUSALS), f"{case.read}: {lazy} is not {expected}"
        return
    if case.read in ("keys of a query", "columns of a query") and not isinstance(lazy, Raised):
        # All faults can be in properties that were not read.
        return
    # The order of the properties decides which of several faults comes first.
    failures = [expected, *_faults(message)]
    assert isinstance(lazy, Raised), f"{case.read}: {lazy} in place of {expected}"
    assert lazy in failures, f"{case.read}: {lazy} is not one of {failures}"


def _without_results(raw: bytes, response_type: Any) -> bytes:
    """Return a response with all its results empty; unchanged, if its fields cannot be parsed."""
    fields = parsed(raw)
    if fields is None:
        return raw
    if response_type is _LookupResponse:
        return encoding.encode(_emptied(fields, (_FOUND, _MISSING)))
    return encoding.encode(
        field._replace(payload=encoding.encode(_emptied(inside, (_RESULTS_IN_BATCH,))))
        if field.number == _BATCH and (inside := parsed(field.payload)) is not None
        else field
        for field in fields
    )


def _emptied(fields: list[Field], numbers: tuple[int, ...]) -> list[Field]:
    return [
        field._replace(payload=b"")
        if field.number in numbers and field.wire_type == encoding.DELIMITED
        else field
        for field in fields
    ]


def _faults(message: Any) -> Iterator[Raised]:
    """Yield the errors of the stock client for each part of a response alone."""
    for entity in _entities_of(message):
        yield from failures_in(entity)
    keys = [entity.key for entity in _entities_of(message) if entity.HasField("key")]
    for key in (*keys, *getattr(message, "deferred", ())):
        fault = outcome(helpers.key_from_protobuf, key)
        if isinstance(fault, Raised):
            yield fault
