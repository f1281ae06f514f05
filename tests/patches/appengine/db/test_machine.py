"""Any sequence of operations on a model has the results and effects that it has in stock db."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.patches.appengine.db.model_strategies import ANYTHING, DYNAMIC_NAMES, ENTITIES
from tests.patches.appengine.db.pairs import Pair
from tests.patches.appengine.db.test_models import ON_VARS, WHOLE
from tests.patches.models.cases import COPIES
from tests.patches.models.machine import PICKS, Twins, converts, run
from tests.patches.models.shapes import Stored


def _converts(stored: Stored) -> bool:
    return converts(Pair, stored.raw)


class DbTwins(Twins):
    @initialize(stored=ENTITIES.filter(_converts))
    def make(self, stored: Stored) -> None:
        self.start(stored.shape, Pair.of(stored.raw))

    def name(self, pick: int) -> str:
        """A name in the code, mostly of a property."""
        names = [*self.shape.names, *DYNAMIC_NAMES, "unknown"]
        return names[pick % len(names)]

    @rule(pick=PICKS)
    def read(self, pick: int) -> None:
        name = self.name(pick)
        self.pair.both(lambda model: getattr(model, name))

    @rule(pick=PICKS, prefix=st.sampled_from(["_", "_RESOLVED_"]))
    def read_private(self, pick: int, prefix: str) -> None:
        names = self.shape.stored_names
        self.pair.both(lambda model: getattr(model, prefix + names[pick % len(names)]))

    @rule(pick=PICKS, data=st.data())
    def assign(self, pick: int, data: st.DataObject) -> None:
        name = self.name(pick)
        value = data.draw(self.shape.values.get(name, ANYTHING))
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
        names = self.shape.stored_names
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
        self.duplicated(COPIES[name], go_on_with_copy=goes_on)

    @rule()
    def remake(self) -> None:
        """Make models of the entities behind the models."""
        self.pair.both(lambda model: type(model).from_entity(model._entity))


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run(DbTwins)
