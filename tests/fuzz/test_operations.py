"""Operations and changes: lazily by patched clients, then the same by the stock clients.

The entity is written in the end by the client's encoder, by its batches over both transports, by
:func:`lazyentity.raw`, or by ndb.
"""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from hypothesis import given, strategies as st

import lazyentity
from lazyentity import LazyEntity
from tests.fuzz import patched
from tests.fuzz.canned import Wire
from tests.fuzz.sequences import RAW, Case, Write, cases, compare, lazily, plain_outcome
from tests.support import write_cases
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import comparable, encoded, reparsed

ndb = pytest.importorskip("google.cloud.ndb")
model = pytest.importorskip("google.cloud.ndb.model")

_CommitRequest: Any = datastore_pb2.CommitRequest.pb()
_CommitResponse: Any = datastore_pb2.CommitResponse.pb()


def _committed(request: bytes) -> bytes:
    """Answer a commit as a server does: entities with an incomplete key get an id."""
    response = _CommitResponse()
    for mutation in _CommitRequest.FromString(request).mutations:
        result = response.mutation_results.add()
        # ndb sends every write as an upsert.
        put = mutation.insert if mutation.HasField("insert") else mutation.upsert
        if put.key.path and not put.key.path[-1].WhichOneof("id_type"):
            result.key.CopyFrom(put.key)
            result.key.path[-1].id = 99
    serialised: bytes = response.SerializeToString()
    return serialised


def _by_batch(transport: str, second: bool) -> Write:
    def write(entity: Any) -> Any:
        wire = Wire(_committed)
        batch = wire.client(transport).batch()
        batch.begin()
        other = Entity(Key("Other", 1, project="p"))
        other["number"] = 5
        put = [plain_outcome(batch.put, other)] if second else []
        put.append(plain_outcome(batch.put, entity))
        if second:
            batch.delete(other.key)
            put.append(plain_outcome(batch.put, other))
        at = 1 if second else 0
        if isinstance(put[at], Raised):
            return put[at], [type(mutation).to_dict(mutation) for mutation in batch.mutations]
        key = entity.key
        batch.commit()
        request = _CommitRequest.FromString(wire.requests[-1])
        operation = request.mutations[at].WhichOneof("operation")
        message = getattr(request.mutations[at], operation)
        serialised = message.SerializeToString()
        message.Clear()
        completed, entity.key = outcome(snapshot, entity.key), key
        return serialised, operation, comparable(request), completed

    return write


class Anything(ndb.Expando):  # type: ignore[name-defined, misc]  # ndb announces no types
    """A model for any entity."""

    number = ndb.IntegerProperty()
    text = ndb.StringProperty()
    d = ndb.JsonProperty()


def _by_ndb(entity: Any) -> Any:
    wire = Wire(_committed)
    with wire.ndb_client().context():
        made = model._entity_from_ds_entity(entity, model_class=Anything)
        made.number = 5
        key = made.put()
    (mutation,) = _CommitRequest.FromString(wire.requests[-1]).mutations
    return {"upsert": comparable(mutation.upsert), "key": repr(key)}


WRITERS: dict[str, Write] = {
    "entity_to_protobuf": encoded,
    **RAW,
    "batch over grpc": _by_batch("grpc", second=False),
    "batch over http": _by_batch("http", second=False),
    "second in a batch over grpc": _by_batch("grpc", second=True),
    "second in a batch over http": _by_batch("http", second=True),
    "ndb": _by_ndb,
}


@patched.few
@given(batch=st.lists(cases(list(WRITERS)), min_size=1, max_size=8))
def test_operations(batch: list[Case]) -> None:
    """After any operations, each way of writing gives the message or the error of stock."""
    with patched.clients():
        done = [lazily(case, WRITERS) for case in batch]
    for case, each in zip(batch, done, strict=True):
        compare(case, each, WRITERS)


def _written(case: write_cases.Case) -> tuple[Any, Any]:
    return (
        outcome(lambda: encoded(case.pair(LazyEntity)[0])),
        outcome(lambda: lazyentity.raw(case.pair(LazyEntity)[0])),
    )


@patched.few
@given(batch=st.lists(write_cases.CASES, min_size=1, max_size=8))
def test_changes_while_writing(batch: list[write_cases.Case]) -> None:
    """The patched encoder and ``raw()`` write the message of the client, or raise its error."""
    with patched.clients():
        done = [_written(case) for case in batch]
    for case, each in zip(batch, done, strict=True):
        expected = outcome(lambda: encoded(case.pair(LazyEntity)[1]))  # noqa: B023  # called at once
        for written in each:
            # The order of a map is not fixed.
            ours = written if isinstance(written, Raised) else reparsed(written)
            case.compare(ours, expected)
