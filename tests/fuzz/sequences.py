"""Cases of steps and a write: first on a lazy entity, then on a stock one, with equal results."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from hypothesis import strategies as st

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.encoding import entity_message
from lazyentity.entity import LazyEntityBase
from tests.fuzz.steps import LAZY_STEPS, STEPS as ON_ENTITIES, Side, Step, taint
from tests.support.snapshots import (
    Raised,
    geo_points_without_address,
    outcome,
    snapshot,
    snapshot_key,
)
from tests.support.stock import (
    EntityMessage,
    ValueMessage,
    comparable,
    content,
    content_of,
    encoded,
    in_order_of,
    lazy_entities_in,
    stock_entity,
)
from tests.support.strategies import Grammar, entities

Write = Callable[[Any], Any]

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True)
class Case:
    """A sequence of steps, each with the seed of its choices, and then a write.

    Attributes:
        raw: the entity that the steps change.
        steps: in their order.
        writer: the way to write the entity; a name of the writers that the case is run with.
        tainted: whether the sentinel is put in before the steps.
    """

    raw: bytes
    steps: tuple[tuple[Step, int], ...]
    writer: str
    tainted: bool = False


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


def by_raw(entity: Any) -> bytes:
    """Write a lazy entity by :func:`lazyentity.raw`, and a stock one by the client's encoder."""
    # An unpatched client has no other way to serialise.
    is_raw = lazyentity.patched() or isinstance(entity, LazyEntityBase)
    return lazyentity.raw(entity) if is_raw else encoded(entity)


RAW: dict[str, Write] = {"raw": by_raw}
"""The one way to write that needs no patched client."""


def plain_outcome(call: Callable[..., Any], *args: Any) -> Any:
    """As ``outcome``, without the intended differences: addresses and the name of the class."""
    result = outcome(call, *args)
    if isinstance(result, Raised):
        text = _ADDRESS.sub("", result.text)
        return replace(result, text=text.replace("'LazyEntity' object", "'Entity' object"))
    return result


def lazily(
    case: Case, writers: dict[str, Write], lazy_type: type[LazyEntityBase] = LazyEntity
) -> Done | None:
    """Do a case lazily; None if there is no stock counterpart."""
    side = Side(case.raw, lazy_type, {})
    steps = _stepped(side, case)
    if case.tainted:
        _assert_refused(side)
        return None
    written = plain_outcome(writers[case.writer], side.entity)
    return Done(side, steps, written, _unread(side.entity))


def compare(case: Case, done: Done | None, writers: dict[str, Write]) -> None:
    """Do a case with the stock client, and compare.

    Raises:
        AssertionError: the sides differ.
    """
    if done is None:
        return
    stock = Side(case.raw, None, done.side.records)
    steps = zip(case.steps, done.steps, _stepped(stock, case), strict=True)
    for (step, seed), ours, theirs in steps:
        assert ours == theirs, f"{step.__name__} {seed}: {ours} is not {theirs}"
    lazy = done.side.entity
    in_order_of(lazy, stock.entity, dict.get)
    expected = plain_outcome(writers[case.writer], stock.entity)
    _assert_same_writing(done.written, done.unread, expected, stock)
    ours, theirs = plain_outcome(snapshot, lazy), plain_outcome(snapshot, stock.entity)
    assert ours == theirs, f"afterwards: {ours} is not {theirs}"
    # By now all of it is decoded.
    in_order_of(lazy, stock.entity, dict.get)
    with geo_points_without_address():
        ours, theirs = _text(lazy), _text(stock.entity)
    assert ours == theirs, f"shown: {ours} is not {theirs}"


def _text(entity: Any) -> Any:
    shown = plain_outcome(repr, entity)
    return _ADDRESS.sub("", shown) if isinstance(shown, str) else shown


def _stepped(side: Side, case: Case) -> list[Any]:
    return [
        _taken(side, number, step, random.Random(seed))
        for number, (step, seed) in enumerate(case.steps)
    ]


def _taken(side: Side, number: int, step: Step, chance: random.Random) -> Any:
    """Take a step; return all that can be compared at once, as later steps may change it.

    That is its result, the names then, and the decoded properties.
    """
    entity, before = side.entity, _decoded(side.entity)
    side.step = number
    side.named.clear()
    result = plain_outcome(lambda: snapshot(step(side, chance)))
    if isinstance(entity, LazyEntityBase) and step in LAZY_STEPS:
        allowed = side.named if LAZY_STEPS[step] else set()
        assert _decoded(entity) - before <= allowed, f"{step.__name__} decodes more than {allowed}"
    decoded = side.record(lambda: _decoded(side.entity), "decoded")
    if isinstance(side.entity, LazyEntityBase):
        for name, value in dict.items(side.entity):
            assert (value is UNDECODED) is (name not in decoded), name
    values = {name: outcome(_surface, dict.get(side.entity, name)) for name in decoded}
    return result, set(side.entity), values


def _decoded(entity: Any) -> set[Any]:
    return set(lazyentity.decoded(entity)) if isinstance(entity, LazyEntityBase) else set()


def _unread(entity: Any) -> set[Any]:
    return set(entity) - _decoded(entity) if isinstance(entity, LazyEntityBase) else set()


def _surface(value: Any) -> Any:
    """As ``snapshot``, but without reading the properties of entities, which would decode them."""
    if isinstance(value, Entity):
        return Entity, set(value)
    if type(value) is list:
        return [_surface(item) for item in value]
    return snapshot(value)


def prefetch(side: Side, chance: random.Random) -> None:
    """Decode some properties, and no others."""
    chosen = {side.name(chance) for _ in range(chance.randrange(4))} & side.entity.keys()
    # Other keys, which a caller assigned, are no names.
    names = {name for name in chosen if isinstance(name, str)}
    if isinstance(side.entity, LazyEntityBase):
        before = set(lazyentity.decoded(side.entity))
        lazyentity.prefetch(side.entity, *names)
        assert set(lazyentity.decoded(side.entity)) == before | names


def materialize(side: Side, chance: random.Random) -> Any:
    """Make a stock entity of it all."""
    # A stock entity is returned as it is, and attributes as assigned are not taken over.
    if not side.is_lazy or side.has_new_attributes:
        return None
    if not side.lazy:
        return side.entity
    plain = lazyentity.materialize(side.entity)
    assert lazy_entities_in(plain) == []
    return plain


def write(side: Side, chance: random.Random) -> None:
    """Write the entity, and go on with it.

    Unread properties are written as received unless their flag changed, others as stock does it.
    """
    entity = side.entity
    if side.lazy:
        written = plain_outcome(by_raw, entity)
        if isinstance(entity, LazyEntityBase) and not isinstance(outcome(content, written), Raised):
            assert content(entity_message(entity).SerializeToString()) == content(written)
        side.record(lambda: (written, _unread(entity)))
        return
    written, unread = side.record(lambda: None)
    expected = plain_outcome(encoded, entity)
    # A stock entity is encoded to the client's message, without the client.
    assert plain_outcome(lambda: comparable(entity_message(entity))) == expected
    if isinstance(expected, Raised):
        # The order of the properties, which is another on this side, decides between errors.
        assert written in [
            expected,
            *(plain_outcome(stock_encoding, entity, name) for name in entity),
        ]
    else:
        _assert_same_writing(written, unread, expected, side)


STEPS: tuple[Step, ...] = (*ON_ENTITIES, prefetch, materialize, write)
_STEPS = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 2**32 - 1)), max_size=25)
_RAWS = entities(Grammar(properties=6))


def cases(writers: Sequence[str]) -> st.SearchStrategy[Case]:
    """Draw cases: any steps, or none with a sentinel that is put in."""
    writer = st.sampled_from(writers)
    sound = st.builds(Case, raw=_RAWS, steps=_STEPS.map(tuple), writer=writer)
    # With steps, another value that cannot be written could be assigned.
    tainted = st.builds(Case, raw=_RAWS, steps=st.just(()), writer=writer, tainted=st.just(True))
    return st.integers(0, 30).flatmap(lambda number: sound if number else tainted)


def _assert_refused(side: Side) -> None:
    """Smuggle the sentinel in, and check that it is refused: when assigned, or when written."""
    refused = outcome(taint, side, random.Random(len(side.raw)))
    if not isinstance(refused, Raised):
        refused = outcome(encoded, side.entity)
    assert isinstance(refused, Raised), "the sentinel was written"
    assert refused.kind in (TypeError, ValueError), refused


def _assert_same_writing(written: Any, unread: set[Any], expected: Any, stock: Side) -> None:
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
        assert_written(written, stock.entity, stock.raw, unread)


def assert_written(serialised: bytes, stock: Entity, raw: bytes, unread: Set[str]) -> None:
    """Check the serialised form of a written lazy entity. The client must not be patched.

    Args:
        serialised: the written entity.
        stock: a stock entity after the same operations.
        raw: the bytes that the lazy entity was made from.
        unread: the properties that are still undecoded.
    """
    original, message = EntityMessage.FromString(raw), EntityMessage.FromString(serialised)
    assert set(message.properties) == stock.keys(), (message, stock)
    for name in stock:
        expected = stock_encoding(stock, name)
        written = message.properties[name]
        if name in unread:
            assert as_stock_writes(name, original.properties[name]) == expected, name
            assert content_of(written) == content_of(original.properties[name]), name
        elif comparable(written) != expected:
            # We keep more of embedded entities that were not read.
            read_again = as_stock_writes(name, ValueMessage.FromString(expected))
            assert as_stock_writes(name, written) == read_again, name
    key = helpers.key_from_protobuf(message.key) if message.HasField("key") else None
    ours, theirs = snapshot_key(key), snapshot_key(stock.key)
    if ours != theirs:
        # A path with an incomplete element reads as another after being written.
        read_again = snapshot_key(helpers.key_from_protobuf(stock.key.to_protobuf()._pb))
        assert ours == read_again, f"{ours} is neither {theirs} nor {read_again}"


def stock_encoding(entity: Entity, name: str) -> bytes:
    """Return the value of a property as the stock client writes it, comparably."""
    alone = Entity()
    alone.exclude_from_indexes = entity.exclude_from_indexes
    alone[name] = entity[name]
    alone._meanings = entity._meanings
    return comparable(helpers.entity_to_protobuf(alone)._pb.properties[name])


def as_stock_writes(name: str, value: Any) -> bytes:
    """Return a value after the client has read and written it, comparably."""
    message = EntityMessage()
    message.properties[name].CopyFrom(value)
    read = stock_entity(message.SerializeToString())
    return comparable(helpers.entity_to_protobuf(read)._pb.properties[name])
