"""The uses of entities beside reading a property, in both backends."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.datastore import Entity, helpers

import lazyentity
from lazyentity.plain import plain_copy
from lazyentity.profiling.counts import (
    CHANGED,
    COLUMNS,
    COMPARED,
    COPIED,
    FLAGS,
    NAMES,
    WRITTEN,
)
from tests.conftest import IMPLEMENTATIONS
from tests.profiling.receiving import BACKENDS, FIVE, Response
from tests.profiling.test_counting import only

pytestmark = pytest.mark.parametrize("backend", BACKENDS)


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


def test_columns_are_reads(backend: str) -> None:
    """A column counts as reading its property."""
    append = importlib.import_module(f"lazyentity.{backend}.backend").append_columns
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
        with pytest.raises(TypeError, match="unhashable type: 'LazyEntity'"):
            hash(entity)


def test_methods_that_an_application_sets(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Entity, "__len__", lambda _: 42, raising=False)
    monkeypatch.setattr(Entity, "__missing__", lambda _, name: f"no {name}", raising=False)
    with lazyentity.profile():
        (entity,) = Response(backend, [FIVE]).entities()
        assert (len(entity), entity["other"]) == (42, "no other")
