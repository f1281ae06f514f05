"""Sequences of operations: patched and lazy, then the same by the stock client.

The entity is written in the end by the client's encoder, by its batches over both transports, by
:func:`lazyentity.raw`, or by ndb.

    python -m tests.fuzz.operations --seconds 60
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.ndb import model

from tests.fuzz import material, running
from tests.fuzz.canned import Wire
from tests.fuzz.mutation import shrunk
from tests.fuzz.sequences import (
    RAW,
    STEPS,
    Case,
    Write,
    compare,
    lazily,
    plain_outcome,
)
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import comparable, encoded

_MOST_STEPS = 8
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
        kept = [type(mutation).to_dict(mutation) for mutation in batch.mutations]
        if isinstance(put[at], Raised):
            return put[at], kept
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


class Anything(ndb.Expando):  # type: ignore[misc]  # ndb announces no types
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


def made(seed: int, number: int) -> Case:
    """Return the case of a number."""
    chance = running.chance_of(seed, number)
    raw = material.entity(chance)
    steps = tuple(
        (chance.choice(STEPS), chance.getrandbits(32))
        for _ in range(chance.randint(0, _MOST_STEPS))
    )
    tainted = chance.random() < 0.03
    # Without steps, which could assign another value that cannot be written.
    return Case(raw, () if tainted else steps, chance.choice(list(WRITERS)), tainted)


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case that fails as well, with no step or field that could be left out."""
    case = replace(
        case, steps=running.needed(case.steps, lambda some: fails(replace(case, steps=some)))
    )
    return replace(case, raw=shrunk(case.raw, lambda raw: fails(replace(case, raw=raw))))


main = running.Fuzzer(
    "python -m tests.fuzz.operations",
    made,
    partial(lazily, writers=WRITERS),
    partial(compare, writers=WRITERS),
    smallest,
).command("Fuzz sequences of operations.", material.entities)


if __name__ == "__main__":
    main()
