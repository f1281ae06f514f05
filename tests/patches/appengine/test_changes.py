"""Any operations, in any order or at once, do to a lazy entity what they do to a stock one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore_types
from hypothesis import assume, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine import (
    conversion,  # noqa: F401  # registers the operations
    operations,
)
from tests.patches.appengine.messages import (
    EntityProto,
    alone,
    described,
    entity_proto,
    entity_protos,
    is_made,
    lazy,
    outcome,
    prop,
    stock,
)
from tests.support.changing import acting, meanwhile, rebuild

PICKS = st.integers(0, 12)
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=3),
    st.builds(datastore_types.Text, st.text(max_size=3)),
    st.lists(st.booleans(), max_size=2),
    st.sampled_from([(), object]),
    st.just(datastore_types.Key.from_path("Kind", 7, _app="app", namespace="")),
)
WHOLE: dict[str, Callable[[Any], Any]] = {
    "items": lambda entity: list(map(list, entity.items())),
    "values": lambda entity: list(entity.values()),
    "repr": repr,
    "ToXml": lambda entity: entity.ToXml(),
    "|": lambda entity: [sorted(made.keys()) for made in (entity | {"a": 1}, {"a": 1} | entity)],
    "==": lambda entity: [entity == dict(entity), entity == {}, entity != dict(entity)],
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda entity: pickle.loads(pickle.dumps(entity)),
}
"""Operations that read all properties."""


class Twins(RuleBasedStateMachine):
    """A stock and a lazy entity of the same bytes, to which the same is done."""

    def __init__(self) -> None:
        super().__init__()

    @initialize(message=entity_protos())
    def make(self, message: Any) -> None:
        assume(is_made(outcome(lambda: stock(message))))
        self.message = message
        self.start_over()

    @rule()
    def start_over(self) -> None:
        self.stock, self.lazy = stock(self.message), lazy(self.message)

    def name(self, pick: int) -> str:
        """One of the present names, of two absent ones and one that is none."""
        names: list[str] = [*sorted(self.stock), "absent", "a", ""]
        return names[pick % len(names)]

    def both(self, operation: Callable[[Any], Any], *reads: str) -> None:
        """Do the same to both; no other properties than ``reads`` are decoded by that."""
        before = {*lazyentity.decoded(self.lazy), *reads}
        expected = outcome(lambda: operation(self.stock))
        assert outcome(lambda: operation(self.lazy)) == expected
        assert set(lazyentity.decoded(self.lazy)) <= before

    @rule(pick=PICKS)
    def read(self, pick: int) -> None:
        name = self.name(pick)
        self.both(lambda entity: [entity[name], entity.get(name)], name)
        self.both(lambda entity: entity.get(name, 5), name)
        self.both(lambda entity: [name in entity, len(entity), list(entity), list(entity.keys())])

    @rule(pick=PICKS, value=VALUES, as_default=st.booleans())
    def assign(self, pick: int, value: Any, as_default: bool) -> None:
        name = self.name(pick)
        if as_default:
            self.both(lambda entity: entity.setdefault(name, value), name)
        else:
            self.both(lambda entity: entity.__setitem__(name, value), name)

    @rule(first=PICKS, second=PICKS, value=VALUES, in_place=st.booleans())
    def update(self, first: int, second: int, value: Any, in_place: bool) -> None:
        names = self.name(first), self.name(second)
        given = dict.fromkeys(names, value)
        if in_place:
            self.both(lambda entity: entity.__ior__(given) is entity, *names)
        else:
            self.both(lambda entity: entity.update(given), *names)

    @rule(pick=PICKS, default=st.booleans())
    def take(self, pick: int, default: bool) -> None:
        name = self.name(pick)
        self.both(lambda entity: entity.pop(name, *([None] if default else [])))

    @rule()
    def take_last(self) -> None:
        self.both(lambda entity: list(entity.popitem()))

    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        name = self.name(pick)
        self.both(lambda entity: entity.__delitem__(name))

    @rule()
    def clear(self) -> None:
        self.both(lambda entity: entity.clear())

    @rule(picks=st.lists(PICKS, max_size=3))
    def flag(self, picks: list[int]) -> None:
        names = list(map(self.name, picks))
        self.both(lambda entity: entity.set_unindexed_properties(names))

    @rule()
    def ask(self) -> None:
        for method in (
            *("app", "copy", "entity_group", "is_projection", "is_saved", "key", "kind"),
            *("namespace", "parent", "unindexed_properties"),
        ):
            self.both(lambda entity: getattr(entity, method)())  # noqa: B023  # called at once

    @rule()
    def compare(self) -> None:
        other = stock(self.message)
        self.both(lambda entity: [entity == other, other == entity, entity != other], *self.stock)

    @rule(whole=st.sampled_from(sorted(WHOLE)))
    def read_all(self, whole: str) -> None:
        self.both(WHOLE[whole], *self.stock)

    @rule()
    def materialize(self) -> None:
        self.both(lazyentity.materialize)
        self.both(lambda entity: sorted(map(repr, lazyentity.to_dict(entity).items())))

    @rule()
    def write(self) -> None:
        """Properties that were not read are sent as they came, the others as stock sends them."""
        expected, sent = outcome(self.stock.ToPb), outcome(self.lazy.ToPb)
        undecoded = set(self.lazy._undecoded())
        if isinstance(expected, tuple) or isinstance(sent, tuple):
            # The client reads some values of projections that it cannot write.
            assert sent == expected or undecoded
            return
        written, wanted = self.lazy._ToPb(), self.stock._ToPb()
        assert (written.key, written.entity_group) == (wanted.key, wanted.entity_group)
        every = {each.name for each in [*wanted.property, *wanted.raw_property]}
        assert every == {each.name for each in [*written.property, *written.raw_property]}
        for name in every:
            came = self.message if name in undecoded else wanted
            assert described(alone(written, name)) == described(alone(came, name)), name
        for properties in ("property", "raw_property"):
            sides = (getattr(message, properties) for message in (written, wanted))
            names = [dict.fromkeys(each.name for each in side) for side in sides]
            # Values of a name that are stored in both ways are sent so only if they were read.
            assert names[0].keys() ^ names[1].keys() <= undecoded
            both = names[0].keys() & names[1].keys()
            assert [n for n in names[0] if n in both] == [n for n in names[1] if n in both]
        assert EntityProto.FromString(lazyentity.raw(self.lazy)).key == wanted.key

    @rule(partial=st.booleans())
    def detach(self, partial: bool) -> None:
        """The detached entity has what was read."""
        read = lazyentity.decoded(self.lazy)
        detached: Any
        (detached,) = lazyentity.detach([self.lazy], partial=partial)
        assert described(list(detached.values())) == described([self.stock[name] for name in read])
        assert list(detached) == list(read)
        if not partial and len(read) < len(self.stock):
            assert outcome(detached.ToPb)[0] is RuntimeError

    @invariant()
    def unread_is_undecoded(self) -> None:
        for name in self.lazy:
            value = dict.__getitem__(self.lazy, name)
            assert value is UNDECODED or described(value) == described(self.stock[name])


def test_machine() -> None:
    machine: Any = Twins
    run_state_machine_as_test(machine, settings=settings(max_examples=50, stateful_step_count=20))


_STAYING = [f"stay{number}" for number in range(20)]


def _message(*names: str, multiple: bool = False) -> Any:
    numbered = enumerate(names)
    return entity_proto(*(prop(name, multiple=multiple, int64Value=n) for n, name in numbered))


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
def test_a_value_changes_the_entity(change: Callable[[Any], object], read: tuple[str, ...]) -> None:
    """As in stock, all that it had when it began to be written is written."""
    message = _message("old0", "old1", "mid", *_STAYING)
    results = []
    for entity in (stock(message), lazy(message)):
        for name in read:
            entity[name]
        acts: list[int] = []
        sent, names = _written(entity, change, acts)
        assert acts, "the zone was not asked"
        assert {each.name for each in sent.property} == {"old0", "old1", "mid", *_STAYING}
        results.append((sent, names))
    assert results[0] == results[1]


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
def test_another_thread_changes_an_entity(use: Callable[[Any], Any]) -> None:
    """All that stays is there each time, and nothing fails."""
    message = _message("moving", *_STAYING)
    for _ in range(6):
        entity = lazy(message)

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
