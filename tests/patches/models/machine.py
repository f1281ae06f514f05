"""Any sequence of operations on a model, whichever library it is of."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, ClassVar

from hypothesis import settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lazyentity.codec.undecoded import UNDECODED
from tests.patches.models.pairs import FEWER, ModelPair, assigning, deleting, is_lazy, reading
from tests.patches.models.shapes import Shape, Stored
from tests.support.snapshots import Raised, outcome

PICKS = st.integers(0, 14)
ANY = st.one_of(st.none(), st.integers(0, 3), st.text(max_size=2), st.lists(st.integers(0, 2)))


def _pickled(protocol: int, entity: Any) -> Any:
    return pickle.loads(pickle.dumps(entity, protocol))


def _compared(other: Any, entity: Any) -> tuple[bool, bool]:
    return entity == other, other == entity


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": partial(_pickled, protocol)
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
}

ON_VALUES: list[Callable[[Any, Any], Any]] = [
    lambda values, name: (name in values, len(values)),
    lambda values, name: values.get(name),
    lambda values, name: values[name],
    lambda values, name: values.pop(name, None),
    lambda values, name: values.setdefault(name, None),
    lambda values, _: (dict(values), values.copy(), copy.copy(values), {**values}),
    lambda values, _: (dict(values.items()), dict(zip(values, values.values(), strict=True))),
    lambda values, name: (values | {name: 1}, {name: 1} | values),
    lambda values, name: (sorted(values.keys() & {name}), len(list(reversed(values)))),
    lambda values, _: values == copy.copy(values),
]
"""Operations on ``_values``, and a name."""


class Twins(RuleBasedStateMachine):
    """A model of each side with the same operations, and the copies made of them.

    Each subclass is for a single library.
    """

    kind: ClassVar[type[ModelPair]]
    """The two models of an entity."""
    entities: ClassVar[st.SearchStrategy[Stored]]
    anything: ClassVar[st.SearchStrategy[Any]] = ANY
    """Values, independent of the property that they are assigned to."""

    @initialize(data=st.data())
    def make(self, data: st.DataObject) -> None:
        stored = data.draw(self.entities.filter(self._converts))
        self.shape: Shape = stored.shape
        self.raw = stored.raw
        self.pair = self.kind.from_raw(stored.raw)
        self.others: list[ModelPair] = []

    def _converts(self, stored: Stored) -> bool:
        return not isinstance(outcome(self.kind.stock_model, stored.raw), Raised)

    def name(self, pick: int) -> str:
        """A name in the code, mostly of a property."""
        raise NotImplementedError

    @rule(pick=PICKS)
    def read(self, pick: int) -> None:
        name = self.name(pick)
        self.pair.both(reading(name))
        self.pair.both(lambda entity: getattr(entity, name) is getattr(entity, name))

    @rule(pick=PICKS, data=st.data())
    def assign(self, pick: int, data: st.DataObject) -> None:
        name = self.name(pick)
        value = data.draw(self.shape.values.get(name, self.anything))
        self.pair.both(assigning(name, value))

    @rule(pick=PICKS, data=st.data())
    def assign_anything(self, pick: int, data: st.DataObject) -> None:
        name, value = self.name(pick), data.draw(self.anything)
        self.pair.both(lambda entity: setattr(entity, name, copy.copy(value)))

    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        self.pair.both(deleting(self.name(pick)))

    @rule(name=st.sampled_from(sorted(COPIES)), goes_on=st.booleans())
    def duplicate(self, name: str, goes_on: bool) -> None:
        """Make copies, if that does not fail, and choose which models the operations go on with."""
        twins = self.pair.twins(COPIES[name])
        if twins is None:
            return
        if goes_on:
            twins, self.pair = self.pair, twins
        self.others.append(twins)

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            for pair in [*self.others, self.pair]:
                pair.agree()


class ModelTwins(Twins):
    """Twins of a library named ndb.

    Args:
        entered: what all of the operations run in.
    """

    ndb: ClassVar[Any]
    """The library."""

    def __init__(self, entered: AbstractContextManager[Any]) -> None:
        super().__init__()
        self.entered = entered
        self.entered.__enter__()

    def name(self, pick: int) -> str:
        """A name in the code, mostly of a property."""
        names = [*self.shape.names, "dynamic", "dynamics", "unknown", "key"]
        return names[pick % len(names)]

    def stored_name(self, pick: int) -> str:
        """A stored name, or one that is not stored."""
        names = [*self.shape.stored_names, "dynamic", "absent"]
        return names[pick % len(names)]

    @staticmethod
    def in_values(name: str) -> Any:
        """Return a stored name in the form that it has in ``_values``."""
        return name

    @staticmethod
    def listed(values: Any) -> list[Any]:
        """Return the names in ``_values``, in an order that stock's have, too."""
        return sorted(values)

    @staticmethod
    def type_of(value: Any) -> Any:
        """Return the type that stock's value has."""
        return type(value)

    # Through the attributes.

    @rule(first=PICKS, second=PICKS)
    def assign_other(self, first: int, second: int) -> None:
        to, of = self.name(first), self.name(second)

        def operation(entity: Any) -> None:
            value = getattr(entity, of)
            # Models that are equal need not have the same pickle.
            is_pickled = isinstance(getattr(type(entity), to, None), self.ndb.PickleProperty)
            if not (is_pickled and self._has_model(value)):
                setattr(entity, to, value)

        self.pair.both(operation)

    @rule(pick=PICKS, data=st.data())
    def populate(self, pick: int, data: st.DataObject) -> None:
        name = self.name(pick)
        value = data.draw(self.shape.values.get(name, ANY))
        self.pair.both(lambda entity: entity.populate(**{name: copy.deepcopy(value)}))

    @rule(pick=PICKS, inner=PICKS, data=st.data())
    def change_inside(self, pick: int, inner: int, data: st.DataObject) -> None:
        """Change a list, or a sub-model, where it is."""
        name = self.name(pick)
        value = data.draw(self.shape.values.get(name, ANY))
        text = data.draw(st.sampled_from(["new", None]))

        def operation(entity: Any) -> Any:
            inside = getattr(entity, name)
            if isinstance(inside, list) and inner % 3 == 0:
                inside.extend(copy.deepcopy(value) if isinstance(value, list) else [])
            elif isinstance(inside, list) and inner % 3 == 1:
                return inside.pop()
            elif isinstance(inside, list) and inside:
                inside = inside[0]
            if isinstance(inside, self.ndb.Model):
                names = sorted(prop._code_name for prop in inside._properties.values())
                setattr(inside, names[inner % len(names)], text)
                return getattr(inside, names[(inner + 1) % len(names)])
            if isinstance(inside, dict):
                inside["new"] = text
            return None

        self.pair.both(operation)

    @rule(path=st.sampled_from([None, ("Generated", 7), ("Generated", None), ("Other", 1)]))
    def set_key(self, path: Any) -> None:
        self.pair.both(lambda entity: setattr(entity, "key", path and self.ndb.Key(*path)))

    # Through ``_values``.

    @rule(pick=PICKS, operation=st.sampled_from(ON_VALUES))
    def values(self, pick: int, operation: Callable[[Any, Any], Any]) -> None:
        name = self.in_values(self.stored_name(pick))
        self.pair.both(lambda entity: operation(entity._values, name))
        self.pair.both(lambda entity: self.listed(entity._values))

    @rule(pick=PICKS)
    def ask_property(self, pick: int) -> None:
        """Ask as queries, hooks and subclasses of properties do."""
        name = self.stored_name(pick)

        def operation(entity: Any) -> Any:
            prop = entity._properties[name]
            return (
                prop._has_value(entity),
                prop._is_initialized(entity),
                prop._retrieve_value(entity, "default"),
                prop._get_base_value_unwrapped_as_list(entity),
            )

        self.pair.both(operation)

    # As a whole.

    @rule()
    def show(self) -> None:
        self.pair.both(repr)

    @rule()
    def to_dict(self) -> None:
        self.pair.both(lambda entity: entity.to_dict())

    @rule()
    def compare(self) -> None:
        """With a copy, with what was stored, and with other objects, on both sides of ``==``."""
        self.pair.both(lambda entity: entity == copy.deepcopy(entity))
        original = self.pair.stock_model(self.raw)
        for other in (original, original.key, 1):
            self.pair.both(partial(_compared, other))

    @rule()
    def write(self) -> None:
        self.pair.both(self.pair.written)

    # Invariants.

    @invariant()
    @precondition(lambda self: hasattr(self, "pair"))
    def values_are_alike(self) -> None:
        """A value that was made has stock's form; the others were not read in stock."""
        stock, lazy = self.pair.stock._values, self.pair.lazy._values
        assert self.listed(stock) == self.listed(lazy)
        base_values = {self.ndb.model._BaseValue, type(None)}
        for name, value in dict.items(lazy):
            if value is UNDECODED:
                assert is_lazy(self.pair.lazy)
                assert set(self._types(stock[name])) <= base_values
            else:
                assert self._types(value) == self._types(stock[name])

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self.entered.__exit__(None, None, None)

    def _types(self, value: Any) -> list[Any]:
        if isinstance(value, list):
            return [kind for item in value for kind in self._types(item)]
        return [self.type_of(value)]

    def _has_model(self, value: Any) -> bool:
        items = value if isinstance(value, list) else [value]
        return any(isinstance(item, self.ndb.Model) for item in items)


def run(make_machine: Any, *, max_examples: int = 1) -> None:
    """Run a machine, given its class or a function that makes one.

    Args:
        make_machine: the class or the function.
        max_examples: a multiple of the examples of other tests, for a machine of many classes.
    """
    examples = FEWER.max_examples * max_examples
    chosen = settings(FEWER, max_examples=examples, stateful_step_count=20)
    run_state_machine_as_test(make_machine, settings=chosen)
