"""The counts of entities, properties, operations and uses, in both backends."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import Entity, helpers
from hypothesis import given, strategies as st

import lazyentity
from lazyentity.plain import plain_copy
from lazyentity.profiling.counters import BY_NAME, Counts
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
    (by_name, whole) = counted(profile).decoded.items()
    (site, told, kind), names = whole
    assert (told, kind, site.file) == (operation, "Kind", __file__)
    assert names == Counter(a=3, c=3, d=3, e=3)
    (site, told, kind), names = by_name
    assert (told, kind, site.file) == (BY_NAME, "Kind", __file__)
    assert names == Counter(b=3)
    assert only(profile).decoded == Counter(a=3, b=3, c=3, d=3, e=3)


def test_lines_that_read(backend: str) -> None:
    """A line that reads property after property has them all."""
    with lazyentity.profile() as profile:
        for entity in Response(backend, [FIVE] * 3).entities():
            entity["a"]
            dict(entity)
    names = sorted(map(sorted, counted(profile).decoded.values()))
    assert names == [["a"], ["b", "c", "d", "e"]]


def test_plain_values_of_some_names(backend: str) -> None:
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        assert lazyentity.to_dict(entity, "a", "d") == {"a": 1, "d": True}
    assert only(profile).read == Counter(a=1, d=1)


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
    assert [kind for _, kind in counted(profile).received] == ["Kind", "B", None]


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
    assert len(counts.had) < 1050
    assert len(counts.read) < 1050
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
        assert counts.decoded == Counter(expected)
        assert not counts.whole or "items" in operations
        lines = counted(profile).decoded.items()
        names = counts.had, counts.read, counts.whole
        results.append((names, sorted((key[1], names.total()) for key, names in lines)))
    # Which property is the last one, is the backend's choice.
    assert results[0] == results[-1] or "popitem" in operations


def _assign(entity: Any) -> None:
    entity["a"] = 2


def _assign_all(entity: Any) -> None:
    entity |= {"a": 2}


def _delete(entity: Any) -> None:
    del entity["a"]


USES: dict[str, Callable[[Any], object]] = {
    "in": lambda entity: "a" in entity,
    "bool()": bool,
    "len()": len,
    "iter()": list,
    "reversed()": lambda entity: list(reversed(entity)),
    "keys()": lambda entity: entity.keys(),
    "decoded()": lazyentity.decoded,
    "[] =": _assign,
    "|=": _assign_all,
    "del": _delete,
    "update()": lambda entity: entity.update(a=2),
    "setdefault()": lambda entity: entity.setdefault("other", 2),
    "pop()": lambda entity: entity.pop("other", None),
    "popitem()": lambda entity: entity.popitem(),
    "clear()": lambda entity: entity.clear(),
    "raw()": lazyentity.raw,
    "detach()": lambda entity: lazyentity.detach([entity]),
    "==": lambda entity: entity == Entity(),
    "!=": lambda entity: entity != Entity(),
    "in a list": lambda entity: [Entity()].count(entity),
    "exclude_from_indexes": lambda entity: entity.exclude_from_indexes,
    "_meanings": lambda entity: entity._meanings,
    "vars()": vars,
}


@pytest.mark.parametrize("name", USES)
def test_uses(backend: str, name: str) -> None:
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        USES[name](entity)
    assert only(profile).used
    # Afterwards, nothing is noted.
    (entity,) = Response(backend, [FIVE]).entities()
    USES[name](entity)


def test_a_write_by_the_client(backend: str) -> None:
    lazyentity.patch("datastore", strict=True)
    try:
        with lazyentity.profile() as profile:
            (entity,) = Response(backend, [FIVE]).entities()
            helpers.entity_to_protobuf(entity)
    finally:
        lazyentity.unpatch()
    assert only(profile).used


def test_no_uses(backend: str) -> None:
    """The key is at hand without the properties, and reads are counted by name."""
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        assert entity.key.id == entity.id
        assert entity.kind == entity.key.kind
        entity["a"], entity.get("b")
    assert not only(profile).used


def test_columns_are_reads(backend: str) -> None:
    """A column counts as reading its property."""
    append = BACKENDS[backend].append_columns
    made: list[list[Any]] = [[], [], []]
    with lazyentity.profile() as profile:
        entities = Response(backend, [FIVE] * 3).entities()
        append(entities, ("a", "c", "other"), made, plain_copy, vars)
    assert made == [[1] * 3, [3.0] * 3, [None] * 3]
    counts = only(profile)
    assert (counts.read, counts.whole) == (Counter(), Counter(a=3, c=3))


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
