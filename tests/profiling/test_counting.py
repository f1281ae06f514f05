"""The counts of entities, properties and operations, in both backends."""

from __future__ import annotations

import copy
import gc
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import Entity
from hypothesis import given
from hypothesis import strategies as st

import lazyentity
from lazyentity.profiling.collection import Profile
from lazyentity.profiling.counters import EVERY_PROPERTY
from lazyentity.profiling.counts import Counts
from lazyentity.profiling.snapshot import Snapshot
from tests.profiling.receiving import BACKENDS, FIVE, OTHER, Response, learn
from tests.support.strategies.samples import serialise

NAMES = ("a", "b", "c", "d", "e")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def counted(profile: Profile) -> Snapshot:
    """Return what a stopped profile counted."""
    assert profile._end is not None
    assert profile._start is not None
    return profile._end.since(profile._start)


def only(profile: Profile) -> Counts:
    """Return the counts of the only site."""
    (counts,) = counted(profile).call_sites.values()
    return counts


@pytest.mark.parametrize("is_learned", [False, True])
def test_received_and_read(backend: str, is_learned: bool) -> None:
    if is_learned:
        learn(backend, FIVE)
    with lazyentity.profile() as profile:
        entities = Response(backend, [FIVE] * 4).entities()
        for entity in entities[:3]:
            entity["a"], entity["c"], entity["a"]
        entities[3].get("a")
        entities[3].pop("b")
        entities[3].setdefault("e")
        assert entities[3].get("missing") is None
    counts = only(profile)
    assert (counts.entities, counts.size) == (4, 4 * len(FIVE))
    assert counts.had == Counter(a=4, b=4, c=4, d=4, e=4)
    assert counts.read == Counter(a=4, b=1, c=3, e=1)
    assert not counts.whole
    assert not counted(profile).wholes


WHOLES: dict[str, Callable[[Any], object]] = {
    "items()": lambda entity: entity.items(),
    "values()": lambda entity: entity.values(),
    "copy()": lambda entity: entity.copy(),
    "==": lambda entity: entity == {},
    "repr()": repr,
    "|": lambda entity: entity | {},
    "a copy or pickle": copy.copy,
    "to_dict()": lazyentity.to_dict,
    "materialize()": lazyentity.materialize,
    EVERY_PROPERTY: lambda entity: dict(entity),
}


@pytest.mark.parametrize("operation", WHOLES)
@pytest.mark.parametrize("is_learned", [False, True])
def test_decoding_everything(backend: str, operation: str, is_learned: bool) -> None:
    """Each operation is counted once at its line, with the properties that were left."""
    if is_learned:
        learn(backend, FIVE)
    with lazyentity.profile() as profile:
        for entity in Response(backend, [FIVE] * 3).entities():
            entity["b"]
            WHOLES[operation](entity)
            if operation not in ("to_dict()", "materialize()"):
                # The others leave nothing to decode.
                WHOLES[operation](entity)
    ((site, told, kind), line), *others = counted(profile).wholes.items()
    assert told == operation
    assert kind == "Kind"
    assert site.file == __file__
    assert (line.calls, line.properties, others) == (3, 12, [])
    assert only(profile).decoded_by_name == Counter(a=3, b=3, c=3, d=3, e=3)


def test_reads_at_several_lines_are_no_operation(backend: str) -> None:
    with lazyentity.profile() as profile:
        for entity in Response(backend, [FIVE] * 3).entities():
            entity["a"], entity["b"]
            entity["c"]
            entity["d"]
            entity["e"]
    assert not counted(profile).wholes


def test_plain_values_of_some_names(backend: str) -> None:
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        assert lazyentity.to_dict(entity, "a", "d") == {"a": 1, "d": True}
    assert only(profile).read == Counter(a=1, d=1)
    assert not counted(profile).wholes


def test_eager(backend: str) -> None:
    """Stock entities are counted by themselves, and no property of theirs."""
    with lazyentity.profile() as profile:
        entities = Response(backend, [FIVE] * 3, eager=True).entities()
    assert [type(entity) for entity in entities] == [Entity] * 3
    assert only(profile) == Counts(eager=3, eager_size=3 * len(FIVE))


def test_kinds(backend: str) -> None:
    """The last element of the key's path tells the kind; an entity need not have a key."""
    child, stranger = Entity(lazyentity.LazyEntity.from_bytes(FIVE).key), Entity()
    child.key = child.key.parent or child.key
    message = b"\x0a\x0e\x12\x05\x0a\x01A\x10\x01\x12\x05\x0a\x01B\x10\x02"
    raws = [FIVE, message, lazyentity.raw(stranger)]
    with lazyentity.profile() as profile:
        Response(backend, raws).entities()
    assert [kind for _, kind in counted(profile).call_sites] == ["Kind", "B", None]


@pytest.mark.usefixtures("only_new_objects")
def test_in_memory(backend: str) -> None:
    """Entities are counted out when they are gone, those of cycles too."""
    learn(backend, FIVE)
    with lazyentity.profile() as profile:
        entities = Response(backend, [FIVE] * 3 + [OTHER]).entities()
        entities[0]["self"] = entities[0]
        del entities[:2]
        gc.collect()
    counts = only(profile)
    assert (counts.entities, counts.alive, counts.alive_size) == (4, 2, len(FIVE) + len(OTHER))
    assert counts.byte_seconds > 0
    assert 0 < counts.longest < 60
    del entities
    gc.collect()
    assert only(profile).alive == 2, "a report does not change after its end"
    assert only(profile).longest == counts.longest
    with lazyentity.profile() as later:
        pass
    assert not counted(later).call_sites


def test_longest_in_memory() -> None:
    """Of entities that are gone, or the mean age of those that are alive."""
    for gone, mean_age in ((4.0, 2.0), (1.0, 3.0)):
        counts = Counts(byte_seconds=10 * gone)
        counts.add_alive(2, 20, 20 * mean_age, gone)
        assert counts.longest == max(gone, mean_age)
        assert counts.byte_seconds == 10 * gone + 20 * mean_age


def test_entities_of_before_and_after(backend: str) -> None:
    """Entities count if they arrive while a profile runs; their reads count in any profile."""
    (before,) = Response(backend, [FIVE]).entities()
    with lazyentity.profile() as profile:
        before["a"]
        (during,) = Response(backend, [FIVE]).entities()
    during["a"]
    (after,) = Response(backend, [FIVE]).entities()
    after["a"]
    counts = only(profile)
    assert counts.entities == 1
    assert (len(counts.had), len(counts.read)) == (5, 0)
    assert before._entity_counts is None
    assert after._entity_counts is None


def test_nested_profiles(backend: str) -> None:
    response = Response(backend, [FIVE] * 5)
    with lazyentity.profile() as outer:
        response.entities()
        with lazyentity.profile() as inner:
            response.entities()
            running = json.loads(inner.json())
        response.entities()
    assert only(outer).entities == 15
    assert only(inner).entities == 5
    assert running["kinds"][0]["entities"] == 5


def test_names_that_do_not_come_again(backend: str) -> None:
    """Their number is bounded: further ones are counted together."""
    raws = [serialise({f"only {number} {part}": 1 for part in range(30)}) for number in range(50)]
    with lazyentity.profile() as profile:
        for entity in Response(backend, raws).entities():
            dict(entity)
    counts = only(profile)
    assert len(counts.had) == len(counts.read) == 1001
    assert counts.had.total() == counts.read.total() == 1500


OPERATIONS: dict[str, Callable[[Any, str], object]] = {
    "get": lambda entity, name: entity.get(name),
    "item": lambda entity, name: entity[name] if name in entity else None,  # noqa: SIM401
    "pop": lambda entity, name: entity.pop(name, None),
    "set": lambda entity, name: entity.__setitem__(name, 7),
    "items": lambda entity, name: entity.items(),
    "dict": lambda entity, name: dict(entity),
    "popitem": lambda entity, name: entity.popitem() if entity else None,
    "prefetch": lambda entity, name: lazyentity.prefetch(entity, *{name}.intersection(entity)),
}

STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 1), st.sampled_from(NAMES)),
    max_size=12,
)


@given(STEPS)
def test_against_the_entities_themselves(steps: list[tuple[str, int, str]]) -> None:
    """Both backends count the decodings that the entities show, whatever is done in which order."""
    results = []
    for backend in BACKENDS:
        expected = dict.fromkeys((*NAMES, "z"), 0)
        with lazyentity.profile() as profile:
            entities = Response(backend, [FIVE, OTHER]).entities()
            for operation, which, name in steps:
                entity = entities[which]
                before = set(entity._undecoded())
                OPERATIONS[operation](entity, name)
                gone = before - set(entity._undecoded())
                for each in gone - ({name} if operation == "set" else set()):
                    expected[each] += 1
        (counts,) = counted(profile).call_sites.values()
        assert counts.had.keys() == expected.keys()
        assert counts.decoded_by_name == Counter(expected)
        lines = counted(profile).wholes.items()
        names = counts.had, counts.read, counts.whole
        results.append((names, sorted((key[1], line.properties) for key, line in lines)))
    # Which property is the last one, is the backend's choice.
    assert results[0] == results[-1] or "popitem" in [operation for operation, _, _ in steps]
