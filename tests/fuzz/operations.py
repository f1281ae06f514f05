"""Sequences of operations: patched and lazy, then the same by the stock client.

The fuzzer compares the result or error of each operation, and the entity written in the end: by the
client's encoder, by its batches over both transports, by :func:`lazyentity.raw`, or by ndb.

    python -m tests.fuzz.operations --seconds 60
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import click
from google.cloud import ndb
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.datastore_v1.types import datastore as datastore_pb2
from google.cloud.ndb import model

import lazyentity
from tests.fuzz import material, running
from tests.fuzz.canned import Wire
from tests.fuzz.mutation import shrunk
from tests.fuzz.steps import STEPS, Side, Step, taint
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import EntityMessage, comparable
from tests.support.writing import assert_written

_MOST_STEPS = 8
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_CommitRequest: Any = datastore_pb2.CommitRequest.pb()
_CommitResponse: Any = datastore_pb2.CommitResponse.pb()

Write = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """A sequence of steps, each with the seed of its choices, and then a write.

    Attributes:
        raw: the entity that the steps change.
        steps: in their order.
        writer: the way to write the entity; a name of :data:`WRITERS`.
        tainted: whether the sentinel is put in before the steps.
    """

    raw: bytes
    steps: tuple[tuple[Step, int], ...]
    writer: str
    tainted: bool

    def __str__(self) -> str:
        lines = (f"  {step.__name__} {seed}" for step, seed in self.steps)
        head = f"{self.raw!r}, written by {self.writer}, {'tainted' if self.tainted else 'sound'}"
        return "\n".join((head, *lines))


def _by_encoder(entity: Any) -> bytes:
    return comparable(helpers.entity_to_protobuf(entity)._pb)


def _by_raw(entity: Any) -> bytes:
    # An unpatched client has no other way to serialise.
    return lazyentity.raw(entity) if lazyentity.patched() else _by_encoder(entity)


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
        put = [_outcome(batch.put, other)] if second else []
        put.append(_outcome(batch.put, entity))
        if second:
            batch.delete(other.key)
            put.append(_outcome(batch.put, other))
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
    "entity_to_protobuf": _by_encoder,
    "raw": _by_raw,
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


@dataclass(frozen=True)
class Done:
    """The outcome of a case on the lazy side.

    Attributes:
        side: the side, with the entity after the steps.
        steps: the result or error of each step.
        written: the result or error of the write.
        unread: the properties that are still undecoded.
    """

    side: Side
    steps: list[Any]
    written: Any
    unread: set[Any]


def _outcome(call: Callable[..., Any], *args: Any) -> Any:
    """As ``outcome``, without the intended differences: addresses and the name of the class."""
    result = outcome(call, *args)
    if isinstance(result, Raised):
        text = _ADDRESS.sub("", result.text)
        return replace(result, text=text.replace("'LazyEntity' object", "'Entity' object"))
    return result


def lazily(case: Case) -> Done | None:
    """Do a case lazily; None if there is no stock counterpart."""
    side = Side(case.raw, True, {})
    steps = _stepped(side, case)
    if case.tainted:
        _assert_refused(side)
        return None
    written = _outcome(WRITERS[case.writer], side.entity)
    return Done(side, steps, written, side.entity.keys() - set(lazyentity.decoded(side.entity)))


def compare(case: Case, done: Done | None) -> None:
    """Do a case with the stock client, and compare.

    Raises:
        AssertionError: the sides differ.
    """
    if done is None:
        return
    stock = Side(case.raw, False, done.side.records)
    steps = zip(case.steps, done.steps, _stepped(stock, case), strict=True)
    for (step, seed), ours, theirs in steps:
        assert ours == theirs, f"{step.__name__} {seed}: {ours} is not {theirs}"
    _put_in_order(done.side.entity, stock.entity)
    expected = _outcome(WRITERS[case.writer], stock.entity)
    _assert_same_writing(done, expected, stock)
    ours, theirs = _outcome(snapshot, done.side.entity), _outcome(snapshot, stock.entity)
    assert ours == theirs, f"afterwards: {ours} is not {theirs}"


def _stepped(side: Side, case: Case) -> list[Any]:
    done = []
    for side.step, (step, seed) in enumerate(case.steps):
        # The result of a step is compared at once: later steps may change it.
        done.append(_outcome(lambda: snapshot(step(side, random.Random(seed)))))  # noqa: B023
    return done


def _assert_refused(side: Side) -> None:
    """Smuggle the sentinel in, and check that it is refused: when assigned, or when written."""
    refused = outcome(taint, side, random.Random(len(side.raw)))
    if not isinstance(refused, Raised):
        refused = outcome(_by_encoder, side.entity)
    assert isinstance(refused, Raised), "the sentinel was written"
    assert refused.kind in (TypeError, ValueError), refused


def _put_in_order(lazy: Any, stock: Any) -> None:
    """Give a stock entity the order of a lazy one, but decode nothing."""
    if lazy.keys() != stock.keys():
        return
    for name in list(lazy):
        value = stock.pop(name)
        _put_value_in_order(dict.get(lazy, name), value)
        stock[name] = value


def _put_value_in_order(lazy: Any, stock: Any) -> None:
    if isinstance(lazy, Entity) and isinstance(stock, Entity):
        _put_in_order(lazy, stock)
    elif isinstance(lazy, list) and isinstance(stock, list):
        for ours, theirs in zip(lazy, stock, strict=True):
            _put_value_in_order(ours, theirs)


def _assert_same_writing(done: Done, expected: Any, stock: Side) -> None:
    written = done.written
    if isinstance(expected, tuple) and isinstance(written, tuple):
        (written, *ours), (expected, *theirs) = written, expected
        assert ours == theirs, f"the batch: {ours} is not {theirs}"
    if isinstance(expected, Raised) or isinstance(written, Raised):
        assert written == expected, f"writing: {written} is not {expected}"
    elif isinstance(expected, dict):
        assert written == expected, f"ndb: {written} is not {expected}"
    elif isinstance(outcome(EntityMessage.FromString, expected), Raised):
        # The client writes entities with more levels than any parser reads.
        assert isinstance(outcome(EntityMessage.FromString, written), Raised)
    else:
        assert_written(written, stock.entity, stock.raw, done.unread)


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case that fails as well, with no step or field that could be left out."""
    index = 0
    while index < len(case.steps):
        steps = case.steps[:index] + case.steps[index + 1 :]
        if fails(replace(case, steps=steps)):
            case = replace(case, steps=steps)
        else:
            index += 1
    return replace(case, raw=shrunk(case.raw, lambda raw: fails(replace(case, raw=raw))))


@click.command()
@running.options
def main(seconds: float, seed: int, case: int | None, first: int) -> None:
    """Fuzz sequences of operations."""
    click.echo(f"backend: {lazyentity.backend}")
    # Read while nothing is patched.
    material.entities()

    fuzzer = running.Fuzzer("python -m tests.fuzz.operations", made, lazily, compare, smallest)
    fuzzer.run(seconds, seed, case, first)


if __name__ == "__main__":
    main()
