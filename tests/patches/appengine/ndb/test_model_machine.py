"""Any sequence of operations on a model has the results and effects that it has in stock ndb."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

from google.appengine.ext import ndb
from google.appengine.ext.ndb import model
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from lazyentity.codec.undecoded import UNDECODED
from tests.patches.appengine.ndb.pairs import FEWER, Pair, fixed_now, is_lazy, stock_model, written
from tests.patches.appengine.ndb.raw_entities import changed_entities
from tests.patches.appengine.ndb.strategies import Stored, stored_entities
from tests.support.snapshots import Raised, outcome

PICKS = st.integers(0, 14)
ANY = st.one_of(st.none(), st.integers(0, 3), st.text(max_size=2), st.lists(st.integers(0, 2)))
DUPLICATES: list[Callable[[Any], Any]] = [
    copy.copy,
    copy.deepcopy,
    lambda entity: pickle.loads(pickle.dumps(entity)),
]


def _converts(stored: Stored) -> bool:
    return not isinstance(outcome(stock_model, stored.raw), Raised)


class Twins(RuleBasedStateMachine):
    """A model of each side with the same operations, and the copies made of them."""

    def __init__(self) -> None:
        super().__init__()
        self.stopped = fixed_now()
        self.stopped.__enter__()

    @initialize(stored=st.one_of(stored_entities(), changed_entities()).filter(_converts))
    def make(self, stored: Stored) -> None:
        self.shape = stored.shape
        self.pair = Pair.of(stored.raw)
        self.others: list[Pair] = []

    def name(self, pick: int) -> str:
        """A name in the code, mostly of a property."""
        names = [*self.shape.names, "dynamic", "dynamics", "unknown", "key"]
        return names[pick % len(names)]

    def stored_name(self, pick: int) -> bytes:
        """A name in ``_values``, or one that is not there."""
        names = [*self.shape.stored_names, "dynamic", "absent"]
        return names[pick % len(names)].encode()

    @rule(pick=PICKS)
    def read(self, pick: int) -> None:
        name = self.name(pick)
        self.pair.both(lambda entity: getattr(entity, name))
        self.pair.both(lambda entity: getattr(entity, name) is getattr(entity, name))

    @rule(pick=PICKS, data=st.data())
    def assign(self, pick: int, data: st.DataObject) -> None:
        name = self.name(pick)
        value = data.draw(self.shape.values.get(name, ANY))
        self.pair.both(lambda entity: setattr(entity, name, copy.deepcopy(value)))

    @rule(pick=PICKS, value=ANY)
    def assign_anything(self, pick: int, value: Any) -> None:
        name = self.name(pick)
        self.pair.both(lambda entity: setattr(entity, name, copy.copy(value)))

    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        name = self.name(pick)
        self.pair.both(lambda entity: delattr(entity, name))

    @rule(pick=PICKS, data=st.data())
    def populate(self, pick: int, data: st.DataObject) -> None:
        name = self.name(pick)
        value = data.draw(self.shape.values.get(name, ANY))
        self.pair.both(lambda entity: entity.populate(**{name: copy.deepcopy(value)}))

    @rule(pick=PICKS, inner=PICKS, text=st.sampled_from(["new", None]))
    def change_inside(self, pick: int, inner: int, text: Any) -> None:
        """Change a list, or a sub-model, where it is."""
        name = self.name(pick)

        def operation(entity: Any) -> Any:
            inside = getattr(entity, name)
            if isinstance(inside, list) and inner % 2:
                return inside.pop()
            if isinstance(inside, list) and inside:
                inside = inside[0]
            if isinstance(inside, model.Model):
                names = sorted(prop._code_name for prop in inside._properties.values())
                setattr(inside, names[inner % len(names)], text)
                return getattr(inside, names[(inner + 1) % len(names)])
            if isinstance(inside, dict):
                inside["new"] = text
            return None

        self.pair.both(operation)

    @rule(path=st.sampled_from([None, ("Generated", 7), ("Generated", None), ("Other", 1)]))
    def set_key(self, path: Any) -> None:
        self.pair.both(lambda entity: setattr(entity, "key", path and ndb.Key(*path)))

    @rule(pick=PICKS, value=st.integers(0, 3))
    def values(self, pick: int, value: int) -> None:
        name = self.stored_name(pick)
        self.pair.both(
            lambda entity: (name in entity._values, len(entity._values), list(entity._values))
        )
        match value:
            case 0:
                self.pair.both(lambda entity: entity._values.get(name))
            case 1:
                self.pair.both(lambda entity: entity._values[name])
            case 2:
                self.pair.both(lambda entity: entity._values.pop(name, None))
            case _:
                self.pair.both(lambda entity: entity._values.setdefault(name, None))

    @rule(pick=PICKS)
    def ask_property(self, pick: int) -> None:
        """Ask as queries, hooks and subclasses of properties do."""
        name = self.stored_name(pick).decode()

        def operation(entity: Any) -> Any:
            prop = entity._properties[name]
            return (
                prop._has_value(entity),
                prop._is_initialized(entity),
                prop._retrieve_value(entity, "default"),
                prop._get_base_value_unwrapped_as_list(entity),
            )

        self.pair.both(operation)

    @rule()
    def show(self) -> None:
        self.pair.both(repr)
        self.pair.both(lambda entity: entity.to_dict())

    @rule()
    def compare(self) -> None:
        self.pair.both(lambda entity: entity == copy.deepcopy(entity))
        self.pair.both(lambda entity: (entity == entity.key, entity != 1))

    @rule(set_key=st.booleans())
    def convert(self, set_key: bool) -> None:
        self.pair.both(lambda entity: entity._to_pb(set_key=set_key))

    @rule()
    def write(self) -> None:
        self.pair.both(written)

    @rule(duplicate=st.sampled_from(DUPLICATES), go_on_with_copy=st.booleans())
    def duplicate(self, duplicate: Callable[[Any], Any], go_on_with_copy: bool) -> None:
        twins = self.pair.twins(duplicate)
        if twins is None:
            return
        if go_on_with_copy:
            twins, self.pair = self.pair, twins
        self.others.append(twins)

    @invariant()
    @precondition(lambda self: hasattr(self, "pair"))
    def values_are_alike(self) -> None:
        """A value that was made has stock's form; the others were not read in stock."""
        stock, lazy = self.pair.stock._values, self.pair.lazy._values
        assert list(stock) == list(lazy)
        for name, value in dict.items(lazy):
            if value is UNDECODED:
                assert is_lazy(self.pair.lazy)
                assert set(_forms(stock[name])) <= {model._BaseValue, type(None)}
            else:
                assert _forms(value) == _forms(stock[name])

    def teardown(self) -> None:
        try:
            if hasattr(self, "pair"):
                for pair in [*self.others, self.pair]:
                    pair.agree()
        finally:
            self.stopped.__exit__(None, None, None)


def _forms(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [form for item in value for form in _forms(item)]
    return [type(value)]


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run_state_machine_as_test(Twins, settings=settings(FEWER, stateful_step_count=20))
