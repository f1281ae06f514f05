"""The counts of entities, properties, operations and uses, in both backends."""

from __future__ import annotations

import copy
import gc
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import Entity, helpers
from hypothesis import given
from hypothesis import strategies as st

import lazyentity
from lazyentity.plain import plain_copy
from lazyentity.profiling.counters import EVERY_PROPERTY
from lazyentity.profiling.counts import Counts
from lazyentity.profiling.observer import (
    CHANGED,
    COLUMNS,
    COMPARED,
    COPIED,
    FLAGS,
    NAMES,
    WRITTEN,
)
from tests.conftest import BACKENDS, IMPLEMENTATIONS
from tests.profiling.receiving import FIVE, OTHER, Response, counted, learn, only
from tests.support.strategies.samples import serialise

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
    """Entities are counted out when they are gone, also from cycles."""
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
    "setdefault": lambda entity, name: entity.setdefault(name, 7),
    "another": lambda entity, name: entity.get("missing"),
    "set": lambda entity, name: entity.__setitem__(name, 7),
    "items": lambda entity, name: entity.items(),
    "dict": lambda entity, name: dict(entity),
    "popitem": lambda entity, name: entity.popitem() if entity else None,
    "prefetch": lambda entity, name: lazyentity.prefetch(entity, *{name}.intersection(entity)),
}

STEPS = st.lists(
    st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 1), st.sampled_from("abcde")),
    max_size=12,
)


@given(STEPS, st.booleans())
def test_against_the_entities_themselves(
    steps: list[tuple[str, int, str]], is_learned: bool
) -> None:
    """Both backends count the decodings that the entities show, whatever is done in which order."""
    results = []
    operations = {operation for operation, _, _ in steps}
    for backend in BACKENDS:
        if is_learned:
            learn(backend, FIVE, OTHER)
        expected = dict.fromkeys("abcdez", 0)
        with lazyentity.profile() as profile:
            entities = Response(backend, [FIVE, OTHER]).entities()
            for operation, which, name in steps:
                entity = entities[which]
                before = set(entity._undecoded())
                OPERATIONS[operation](entity, name)
                gone = before - set(entity._undecoded())
                for each in gone - ({name} if operation == "set" else set()):
                    expected[each] += 1
        counts = only(profile)
        assert (counts.entities, counts.size) == (2, len(FIVE) + len(OTHER))
        assert counts.had == Counter(a=2, b=1, c=1, d=1, e=1, z=1)
        assert counts.decoded_by_name == Counter(expected)
        assert not counts.whole or "items" in operations
        lines = counted(profile).wholes.items()
        names = counts.had, counts.read, counts.whole
        results.append((names, sorted((key[1], line.properties) for key, line in lines)))
    # Which property is the last one, is the backend's choice.
    assert results[0] == results[-1] or "popitem" in operations


def _raises(read: Callable[[], object]) -> None:
    with pytest.raises(KeyError):
        read()


def _assign(entity: Any) -> None:
    entity["a"] = 2


def _assign_all(entity: Any) -> None:
    entity |= {"a": 2}


def _delete(entity: Any) -> None:
    del entity["a"]


USES: dict[str, tuple[str, Callable[[Any], object]]] = {
    "in": (NAMES, lambda entity: "a" in entity),
    "bool()": (NAMES, bool),
    "len()": (NAMES, len),
    "iter()": (NAMES, list),
    "reversed()": (NAMES, lambda entity: list(reversed(entity))),
    "keys()": (NAMES, lambda entity: entity.keys()),
    "get() of another": (NAMES, lambda entity: entity.get("other")),
    "[] of another": (NAMES, lambda entity: _raises(lambda: entity["other"])),
    "decoded()": (NAMES, lazyentity.decoded),
    "[] =": (CHANGED, _assign),
    "|=": (CHANGED, _assign_all),
    "del": (CHANGED, _delete),
    "update()": (CHANGED, lambda entity: entity.update(a=2)),
    "setdefault()": (CHANGED, lambda entity: entity.setdefault("other", 2)),
    "pop()": (CHANGED, lambda entity: entity.pop("other", None)),
    "popitem()": (CHANGED, lambda entity: entity.popitem()),
    "clear()": (CHANGED, lambda entity: entity.clear()),
    "raw()": (WRITTEN, lazyentity.raw),
    "detach()": (COPIED, lambda entity: lazyentity.detach([entity])),
    "==": (COMPARED, lambda entity: entity == Entity()),
    "!=": (COMPARED, lambda entity: entity != Entity()),
    "in a list": (COMPARED, lambda entity: [Entity()].count(entity)),
    "exclude_from_indexes": (FLAGS, lambda entity: entity.exclude_from_indexes),
    "_meanings": (FLAGS, lambda entity: entity._meanings),
    "vars()": (FLAGS, vars),
}


@pytest.mark.parametrize("name", USES)
def test_uses(backend: str, name: str) -> None:
    use, operate = USES[name]
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        operate(entity)
    assert use in only(profile).uses
    # Afterwards, nothing is noted.
    (entity,) = Response(backend, [FIVE]).entities()
    operate(entity)


def test_a_write_by_the_client(backend: str) -> None:
    lazyentity.patch("datastore", strict=True)
    try:
        with lazyentity.profile() as profile:
            (entity,) = Response(backend, [FIVE]).entities()
            helpers.entity_to_protobuf(entity)
    finally:
        lazyentity.unpatch()
    assert WRITTEN in only(profile).uses


def test_no_uses(backend: str) -> None:
    """The key is at hand without the properties, and reads are counted by name."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        assert entity.key.id == entity.id
        assert entity.kind == entity.key.kind
        entity["a"], entity.get("b")
    assert only(profile).uses == frozenset()


def test_get_looks_for_a_name_once(backend: str) -> None:
    """A name of an application's own class is asked for its hash as often as without a profile."""
    hashed: list[str] = []

    class Name(str):
        __slots__ = ()

        def __hash__(self) -> int:
            hashed.append(self)
            return str.__hash__(self)

    with lazyentity.profile():
        (entity,) = Response(backend, [FIVE]).entities()
        assert (entity.get(Name("other")), entity.get(Name("more"), 5)) == (None, 5)
    assert hashed == ["other", "more"]


def test_columns_are_reads(backend: str) -> None:
    """A column counts as reading its property."""
    append = BACKENDS[backend].append_columns
    made: list[list[Any]] = [[], [], []]
    with lazyentity.profile() as profile:
        entities = Response(backend, [FIVE] * 3).entities()
        append(entities, ("a", "c", "other"), made, plain_copy, vars)
    assert made == [[1] * 3, [3.0] * 3, [None] * 3]
    counts = only(profile)
    assert counts.read == Counter(a=3, c=3)
    assert counts.uses == {COLUMNS}


def test_the_class_of_an_entity(backend: str) -> None:
    """Code that asks for the very class, as ``copyreg`` does, sees no profile."""
    with lazyentity.profile():
        (entity,) = Response(backend, [FIVE]).entities()
        assert type(entity) is IMPLEMENTATIONS[backend]
        # pandas takes a dict that has it for one with a default, as in Series.map(entity).
        assert not hasattr(entity, "__missing__")
        assert type(entity).update.__name__ == "update"
        with pytest.raises(TypeError, match="unhashable type: 'LazyEntity'"):
            hash(entity)


def test_methods_that_an_application_sets(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Entity, "__len__", lambda _: 42, raising=False)
    monkeypatch.setattr(Entity, "__missing__", lambda _, name: f"no {name}", raising=False)
    with lazyentity.profile():
        (entity,) = Response(backend, [FIVE]).entities()
        assert (len(entity), entity["other"]) == (42, "no other")
