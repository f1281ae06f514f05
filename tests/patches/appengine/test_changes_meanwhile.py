"""Entities that change while they are written or read: time zones and other threads do that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lazyentity.patches.appengine import operations
from tests.patches.appengine.sides import lazy, outcome, stock
from tests.patches.appengine.strategies import EntityProto, Property, Value, reference
from tests.support.changing import acting, meanwhile, rebuild
from tests.support.concurrency import together

_STAYING = [f"stay{number}" for number in range(20)]


def _message(*names: str, multiple: bool = False) -> Any:
    made = EntityProto()
    made.key.CopyFrom(reference("app", "", [("Kind", 1)]))
    made.entity_group.element.add().CopyFrom(made.key.path.element[0])
    made.property.extend(
        Property(name=name, multiple=multiple, value=Value(int64Value=number))
        for number, name in enumerate(names)
    )
    return made


_CHANGES: dict[str, Callable[[Any], object]] = {
    "rebuilds": lambda entity: rebuild(entity, "old0", "old1"),
    "clears": lambda entity: entity.clear(),
    "deletes": lambda entity: [entity.pop(name, None) for name in _STAYING[:5]],
    "adds": lambda entity: entity.setdefault("later", 1),
    "assigns": lambda entity: dict.update(entity, dict.fromkeys(_STAYING, 7)),
    "reads": lambda entity: [entity.get(name) for name in _STAYING],
    "moves": lambda entity: entity.setdefault("moved", entity.pop(_STAYING[0], 5)),
}


def _written(entity: Any, change: Callable[[Any], object], acts: list[int]) -> Any:
    """Write an entity one of whose values changes it; return the message, and the entity then."""

    def act() -> None:
        acts.append(1)
        change(entity)

    entity["mid"] = acting(act)
    acts.clear()
    return entity._ToPb(), dict(entity.items()).keys()


@pytest.mark.parametrize("read", [(), ("stay3", "old0"), ("mid",)], ids=["unread", "some", "it"])
@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_a_value_changes_the_entity(
    index_type: Any, change: Callable[[Any], object], read: tuple[str, ...]
) -> None:
    """As in stock, all that it had when it began to be written is written."""
    message = _message("old0", "old1", "mid", *_STAYING)
    results = []
    for entity in (stock(message), lazy(message, index_type)):
        for name in read:
            entity[name]
        acts: list[int] = []
        sent, names = _written(entity, change, acts)
        assert acts, "the zone was not asked"
        assert {each.name for each in sent.property} == {"old0", "old1", "mid", *_STAYING}
        results.append((sent, names))
    assert results[0] == results[1]


def test_a_changed_flag_and_a_changing_value(index_type: Any) -> None:
    """A property whose bytes are not right about its index is written, too, if it is taken out."""
    message = _message("a", "mid", "z")
    sent = []
    for entity in (stock(message), lazy(message, index_type)):
        entity.set_unindexed_properties(["z"])
        sent.append(_written(entity, lambda entity: entity.pop("z", None), [])[0])
    assert sent[0] == sent[1]
    assert [each.name for each in sent[1].raw_property] == ["z"]


_USES: dict[str, Callable[[Any], Any]] = {
    "write": lambda entity: [each.name for each in entity._ToPb().property],
    "raw": lambda entity: [
        each.name for each in EntityProto.FromString(operations.raw(entity)).property
    ],
    "decoded": lambda entity: [*operations.decoded(entity), *_STAYING],
    "to_dict": operations.to_dict,
    "materialize": operations.materialize,
    "detach": lambda entity: [*operations.detach(entity, partial=True), *_STAYING],
    "items": lambda entity: dict(entity.items()),
}


@pytest.mark.parametrize("use", _USES.values(), ids=_USES)
@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_an_entity(index_type: Any, use: Callable[[Any], Any]) -> None:
    """All that stays is there each time, and nothing fails."""
    message = _message("moving", *_STAYING)
    for _ in range(6):
        entity = lazy(message, index_type)

        def change(turn: int, entity: Any = entity) -> None:
            for number in range(12):
                entity[f"new{number}"] = turn
            entity["moving"] = entity.pop("moving")
            for number in range(12):
                del entity[f"new{number}"]

        def act(entity: Any = entity) -> None:
            for turn in range(40):
                if turn % 8 == 0:
                    _ = entity[_STAYING[turn // 8]]
                assert set(use(entity)) >= set(_STAYING)

        meanwhile(change, act)


@pytest.mark.parametrize("multiple", [False, True], ids=["value", "list"])
@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_assigns_while_a_value_is_read(index_type: Any, *, multiple: bool) -> None:
    """The assigned value stays, and a deleted property does not come back."""
    message = _message("a", "b", multiple=multiple)
    for _ in range(25):
        entities = [lazy(message, index_type) for _ in range(1_000)]

        def work(number: int, entities: Any = entities) -> None:
            for entity in entities:
                if number:
                    entity["a"] = "mine"
                    del entity["b"]
                else:
                    assert entity["a"] in (0, [0], "mine")
                    assert entity.get("b") in (1, [1], None)

        together(2, work)
        assert [outcome(lambda entity=entity: entity["a"]) for entity in entities] == [
            outcome(lambda: "mine")
        ] * len(entities)
        assert not any("b" in entity for entity in entities)
