"""Any sequence of operations does to a lazy entity what it does to a stock one."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

from google.appengine.api import datastore_types
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine import conversion  # noqa: F401  # registers the operations
from tests.patches.appengine.sides import alone, described, lazy, outcome, stock
from tests.patches.appengine.strategies import EntityProto, entity_protos

PICKS = st.integers(0, 11)
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**70), 2**70),
    st.text(max_size=3),
    st.builds(datastore_types.Text, st.text(max_size=3)),
    st.lists(st.booleans(), max_size=2),
    st.just(()),
    st.just(datastore_types.Key.from_path("Kind", 7, _app="app", namespace="")),
)


class Twins(RuleBasedStateMachine):
    """A stock and a lazy entity of the same bytes, to which the same is done."""

    def __init__(self, index_type: Any) -> None:
        super().__init__()
        self.index_type = index_type

    @initialize(message=entity_protos())
    def make(self, message: Any) -> None:
        assume(type(outcome(lambda: stock(message))[0]) is list)
        self.message = message
        self.stock = stock(message)
        self.lazy = lazy(message, self.index_type)

    @rule()
    def start_over(self) -> None:
        self.stock, self.lazy = stock(self.message), lazy(self.message, self.index_type)

    def name(self, pick: int) -> str:
        """One of the present names and two absent ones."""
        names: list[str] = [*sorted(self.stock), "absent", "a"]
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

    @rule(picks=st.lists(PICKS, max_size=3))
    def flag(self, picks: list[int]) -> None:
        names = list(map(self.name, picks))
        self.both(lambda entity: entity.set_unindexed_properties(names))

    @rule(
        method=st.sampled_from(
            ["key", "kind", "is_saved", "is_projection", "unindexed_properties", "copy"]
        )
    )
    def ask(self, method: str) -> None:
        self.both(lambda entity: getattr(entity, method)())

    @rule(whole=st.sampled_from(["items", "values", "repr", "ToXml", "|", "=="]))
    def read_all(self, whole: str) -> None:
        operations: dict[str, Callable[[Any], Any]] = {
            "items": lambda entity: list(map(list, entity.items())),
            "values": lambda entity: list(entity.values()),
            "repr": repr,
            "ToXml": lambda entity: entity.ToXml(),
            "|": lambda entity: sorted((entity | {"a": 1}).keys()),
            "==": lambda entity: [entity == dict(entity), entity == {}, entity != dict(entity)],
        }
        self.both(operations[whole], *self.stock)

    @rule(duplicate=st.sampled_from([copy.copy, copy.deepcopy, "pickle", "materialize"]))
    def duplicate(self, duplicate: Any) -> None:
        if duplicate == "pickle":
            self.both(lambda entity: pickle.loads(pickle.dumps(entity)), *self.stock)
        elif duplicate == "materialize":
            self.both(lazyentity.materialize)
        else:
            self.both(duplicate, *self.stock)

    @rule()
    def write(self) -> None:
        """Properties that were not read are sent as they came, the others as stock sends them."""
        expected, sent = outcome(self.stock.ToPb), outcome(self.lazy.ToPb)
        undecoded = set(self.lazy._undecoded())
        if isinstance(expected, tuple) or isinstance(sent, tuple):
            # The client reads some values of projections that it cannot write.
            assert sent == expected or undecoded
            return
        written, wanted = self.lazy.ToPb(), self.stock.ToPb()
        assert written.key == wanted.key
        names = {each.name for each in [*written.property, *written.raw_property]}
        assert names == {each.name for each in [*wanted.property, *wanted.raw_property]}
        for name in names:
            came = self.message if name in undecoded else wanted
            assert described(alone(written, name)) == described(alone(came, name)), name
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


def test_machine(index_type: Any) -> None:
    machine: Any = partial(Twins, index_type)
    run_state_machine_as_test(machine, settings=settings(max_examples=50, stateful_step_count=20))
