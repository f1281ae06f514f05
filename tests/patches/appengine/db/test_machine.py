"""Any sequence of operations on a model has the results and effects that it has in stock db."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.patches.appengine.db.model_strategies import (
    ANYTHING,
    DYNAMIC_NAMES,
    ENTITIES,
    Stored,
)
from tests.patches.appengine.db.pairs import Pair, seen, stock_model
from tests.patches.appengine.db.test_models import COPIES, ON_VARS, WHOLE

PICKS = st.integers(0, 14)


def _converts(stored: Stored) -> bool:
    return bool(seen(lambda: stock_model(stored.raw))[0] != "raised")


class Twins(RuleBasedStateMachine):
    """A model of each side with the same operations, and the copies made of them."""

    @initialize(stored=ENTITIES.filter(_converts))
    def make(self, stored: Stored) -> None:
        self.others: list[Pair] = []
        self.pair = Pair.of(stored.raw)
        self.stored = stored

    def name(self, pick: int) -> str:
        """A name in the code, mostly of a property."""
        names = [*self.stored.shape.names, *DYNAMIC_NAMES, "unknown"]
        return names[pick % len(names)]

    @rule(pick=PICKS)
    def read(self, pick: int) -> None:
        name = self.name(pick)
        self.pair.both(lambda model: getattr(model, name))

    @rule(pick=PICKS, prefix=st.sampled_from(["_", "_RESOLVED_"]))
    def read_private(self, pick: int, prefix: str) -> None:
        names = self.stored.shape.stored_names
        self.pair.both(lambda model: getattr(model, prefix + names[pick % len(names)]))

    @rule(pick=PICKS, data=st.data())
    def assign(self, pick: int, data: st.DataObject) -> None:
        name = self.name(pick)
        value = data.draw(self.stored.shape.values.get(name, ANYTHING))
        self.pair.both(lambda model: setattr(model, name, copy.copy(value)))

    @rule(pick=PICKS, value=ANYTHING)
    def assign_anything(self, pick: int, value: Any) -> None:
        name = self.name(pick)
        self.pair.both(lambda model: setattr(model, name, copy.copy(value)))

    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        name = self.name(pick)
        self.pair.both(lambda model: delattr(model, name))

    @rule(pick=PICKS, value=ANYTHING)
    def change_inside(self, pick: int, value: Any) -> None:
        """Change a list where it is."""
        name = self.name(pick)

        def operation(model: Any) -> None:
            inside = getattr(model, name)
            if isinstance(inside, list):
                inside.append(value)

        self.pair.both(operation)

    @rule(pick=PICKS, value=ANYTHING)
    def change_entity(self, pick: int, value: Any) -> None:
        """Change the entity behind the model."""
        names = self.stored.shape.stored_names
        name = names[pick % len(names)]
        if pick % 2:
            self.pair.both(lambda model: model._entity.pop(name, None))
        else:
            self.pair.both(lambda model: model._entity.__setitem__(name, copy.copy(value)))

    @rule(operation=st.sampled_from(sorted(WHOLE)))
    def whole(self, operation: str) -> None:
        self.pair.both(WHOLE[operation])

    @rule(operation=st.sampled_from(ON_VARS[:-3]))
    def look_at_vars(self, operation: Callable[[Any], Any]) -> None:
        self.pair.both(lambda model: operation(vars(model)))

    @rule(name=st.sampled_from(sorted(COPIES)), goes_on=st.booleans())
    def duplicate(self, name: str, goes_on: bool) -> None:
        twins = self.pair.twins(COPIES[name])
        if twins is None:
            return
        if goes_on:
            twins, self.pair = self.pair, twins
        self.others.append(twins)

    @rule()
    def remake(self) -> None:
        """Make models of the entities behind the models."""
        self.pair.both(lambda model: type(model).from_entity(model._entity))

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            for pair in [*self.others, self.pair]:
                pair.agree()


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    examples = settings().max_examples // 2
    run_state_machine_as_test(
        Twins, settings=settings(max_examples=examples, stateful_step_count=20, derandomize=True)
    )
