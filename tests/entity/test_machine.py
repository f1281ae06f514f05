"""Any sequence of operations has the results and effects that it has on a stock entity."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable
from functools import partial
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
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

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.encoding import entity_message
from tests.entity.consumption import COPIES
from tests.support.snapshots import (
    Raised,
    geo_points_without_address,
    outcome,
    snapshot,
    snapshot_meanings,
    snapshot_outcome,
)
from tests.support.stock import (
    comparable,
    content,
    in_order_of,
    lazy_entities_in,
    stock_entity,
)
from tests.support.strategies import Grammar, entities
from tests.support.writing import assert_written, stock_encoding

RAW = entities(Grammar(nan=False, properties=6))
PICKS = st.integers(0, 11)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.text(max_size=3),
        st.binary(max_size=3),
        st.floats(allow_nan=False),
        st.just(datetime.datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=datetime.timezone.utc)),
        st.just(Key("Kind", 7, project="p")),
    ),
    lambda values: st.one_of(
        st.lists(values, max_size=2), st.dictionaries(st.text(max_size=2), values, max_size=2)
    ),
    max_leaves=3,
)
KEYS = st.sampled_from([None, Key("Kind", 7, project="p"), Key("Kind", project="p")])


class Twins(RuleBasedStateMachine):
    """A stock and a lazy entity of the same bytes, to which the same is done."""

    def __init__(self, lazy_type: type[LazyEntity]) -> None:
        super().__init__()
        self.lazy_type = lazy_type

    @initialize(raw=RAW)
    def make(self, raw: bytes) -> None:
        self.raw = raw
        self.stock = stock_entity(raw)
        self.lazy = self.lazy_type.from_bytes(raw)

    @rule()
    def start_over(self) -> None:
        self.make(self.raw)

    def name(self, pick: int) -> str:
        """One of the present names and two absent ones."""
        names: list[str] = [*sorted(self.stock), "absent", "a"]
        return names[pick % len(names)]

    def both(self, operation: Callable[[Any], Any]) -> None:
        """Apply ``operation`` to both and compare its results or errors."""
        expected = snapshot_outcome(lambda: operation(self.stock))
        assert snapshot_outcome(lambda: operation(self.lazy)) == expected

    def reading(self, names: set[str], operation: Callable[[Any], Any]) -> None:
        """As :meth:`both`, for an operation that may decode properties ``names`` alone."""
        before = set(lazyentity.decoded(self.lazy))
        self.both(operation)
        assert set(lazyentity.decoded(self.lazy)) <= before | names

    # Operations that decode nothing.

    @rule(pick=PICKS)
    def look(self, pick: int) -> None:
        name = self.name(pick)
        self.reading(set(), lambda e: (name in e, len(e), bool(e), sorted(e)))
        self.reading(set(), lambda e: (len(list(reversed(e))), sorted(e.keys() - {name})))

    @rule(pick=PICKS, value=VALUES)
    def assign(self, pick: int, value: Any) -> None:
        name = self.name(pick)
        self.reading({name}, lambda e: e.__setitem__(name, copy.deepcopy(value)))

    @rule(pick=PICKS)
    def delete(self, pick: int) -> None:
        name = self.name(pick)
        self.reading(set(), lambda e: e.__delitem__(name))

    @rule(first=PICKS, second=PICKS, value=VALUES, in_place=st.booleans())
    def update(self, first: int, second: int, value: Any, in_place: bool) -> None:
        names = {self.name(first), self.name(second)}

        def operation(entity: Any) -> None:
            changes = {name: copy.deepcopy(value) for name in names}
            if in_place:
                entity |= changes
            else:
                entity.update(changes)

        self.reading(names, operation)

    @rule()
    def clear(self) -> None:
        self.reading(set(), lambda e: e.clear())

    # Operations that decode one property.

    @rule(pick=PICKS)
    def read(self, pick: int) -> None:
        name = self.name(pick)
        self.reading({name}, lambda e: e[name])
        if name in self.lazy:
            assert self.lazy[name] is self.lazy[name]

    @rule(pick=PICKS, default=VALUES)
    def get(self, pick: int, default: Any) -> None:
        name = self.name(pick)
        self.reading({name}, lambda e: (e.get(name), e.get(name, default)))

    @rule(pick=PICKS, default=VALUES)
    def set_default(self, pick: int, default: Any) -> None:
        name = self.name(pick)
        self.reading({name}, lambda e: e.setdefault(name, copy.deepcopy(default)))

    @rule(pick=PICKS, defaults=st.lists(VALUES, max_size=2))
    def pop(self, pick: int, defaults: list[Any]) -> None:
        name = self.name(pick)
        self.reading({name}, lambda e: e.pop(name, *defaults))

    @rule()
    def pop_item(self) -> None:
        if not self.stock:
            self.both(lambda e: e.popitem())
            return
        # The last one is another in stock's order, which is random.
        name, value = self.lazy.popitem()
        assert snapshot(value) == snapshot(self.stock.pop(name))

    @rule(picks=st.lists(PICKS, max_size=3))
    def prefetch(self, picks: list[int]) -> None:
        names = {self.name(pick) for pick in picks} & self.stock.keys()
        before = set(lazyentity.decoded(self.lazy))
        lazyentity.prefetch(self.lazy, *names)
        assert set(lazyentity.decoded(self.lazy)) == before | names

    # Operations that change values in place.

    @rule(pick=PICKS, value=VALUES)
    def change_inside(self, pick: int, value: Any) -> None:
        name = self.name(pick)

        def operation(entity: Any) -> None:
            inside = entity.get(name)
            if isinstance(inside, list):
                inside.append(copy.deepcopy(value))
            elif isinstance(inside, Entity):
                inside["changed"] = copy.deepcopy(value)
                inside.exclude_from_indexes.add("changed")
                inside.key = None

        self.reading({name}, operation)

    @rule(pick=PICKS)
    def alias(self, pick: int) -> None:
        name = self.name(pick)
        self.reading({name, "alias"}, lambda e: e.__setitem__("alias", e.get(name)))

    # Attributes.

    @rule()
    def read_key(self) -> None:
        self.reading(set(), lambda e: (e.key, e.kind, e.id))

    @rule(key=KEYS)
    def set_key(self, key: Key | None) -> None:
        self.reading(set(), lambda e: setattr(e, "key", key))

    @rule()
    def read_flags(self) -> None:
        self.reading(set(), lambda e: sorted(e.exclude_from_indexes))

    @rule(pick=PICKS, add=st.booleans())
    def change_flags(self, pick: int, add: bool) -> None:
        name = self.name(pick)
        change = set.add if add else set.discard
        self.reading(set(), lambda e: change(e.exclude_from_indexes, name))

    @rule(picks=st.sets(PICKS, max_size=3))
    def replace_flags(self, picks: set[int]) -> None:
        names = {self.name(pick) for pick in picks}
        self.reading(set(), lambda e: setattr(e, "exclude_from_indexes", set(names)))

    @rule()
    def read_meanings(self) -> None:
        assert snapshot_meanings(self.lazy) == snapshot_meanings(self.stock)

    @rule(pick=PICKS)
    def drop_meaning(self, pick: int) -> None:
        name = self.name(pick)
        assert (self.lazy._meanings.pop(name, None) is None) == (
            self.stock._meanings.pop(name, None) is None
        )

    # Operations that decode everything.

    @rule(value=VALUES)
    def views(self, value: Any) -> None:
        self.both(lambda e: dict(e.items()))
        self.both(lambda e: dict(zip(e, e.values(), strict=True)))
        self.both(lambda e: value in e.values())

    @rule(value=VALUES)
    def union(self, value: Any) -> None:
        other = {"a": value, "absent": value}
        self.both(lambda e: e | other)
        self.both(lambda e: other | e)
        self.both(lambda e: e.copy())
        self.both(lambda e: {**e})

    @rule(raw=RAW)
    def update_from_entity(self, raw: bytes) -> None:
        self.lazy.update(self.lazy_type.from_bytes(raw))
        self.stock.update(stock_entity(raw))

    @rule()
    def compare(self) -> None:
        equal = self.stock == copy.deepcopy(self.stock)
        assert (self.lazy == self.stock) is equal
        assert (self.stock == self.lazy) is equal
        assert (self.lazy != self.stock) is not equal
        self.both(lambda e: (e == dict(e), dict(e) == e, e == {"absent": 1}))

    @rule()
    def show(self) -> None:
        with geo_points_without_address():
            text = repr(self.lazy)
            assert text == repr(in_order_of(self.lazy, self.stock))

    @rule(duplicate=st.sampled_from(list(COPIES.values())))
    def duplicate(self, duplicate: Callable[[Any], Any]) -> None:
        self.both(duplicate)

    @rule()
    def materialize(self) -> None:
        plain = lazyentity.materialize(self.lazy)
        assert snapshot(plain) == snapshot(self.stock)
        assert lazy_entities_in(plain) == []

    # Writing.

    @rule()
    def encode(self) -> None:
        """Unread properties are written as received unless their flag changed; others as stock."""
        failures = [
            failure
            for name in self.stock
            if isinstance(failure := outcome(stock_encoding, self.stock, name), Raised)
        ]
        serialised = outcome(lambda: lazyentity.raw(self.lazy))
        if failures:
            assert serialised in failures
            return
        unread = self.lazy.keys() - set(lazyentity.decoded(self.lazy))
        assert content(entity_message(self.lazy).SerializeToString()) == content(serialised)
        assert_written(serialised, self.stock, self.raw, unread)

    @rule()
    def encode_stock(self) -> None:
        """A stock entity is encoded to the client's message, without the client."""
        expected = outcome(lambda: comparable(helpers.entity_to_protobuf(self.stock)._pb))
        assert outcome(lambda: comparable(entity_message(self.stock))) == expected

    # Invariants.

    @invariant()
    @precondition(lambda self: hasattr(self, "lazy"))
    def decoded_properties_are_alike(self) -> None:
        """Decoded properties equal the stock entity's; only the others hold the sentinel."""
        assert self.lazy.keys() == self.stock.keys()
        decoded = lazyentity.decoded(self.lazy)
        for name, stored in dict.items(self.lazy):
            assert (stored is UNDECODED) == (name not in decoded)
            if name in decoded:
                assert _surface(stored) == _surface(self.stock[name])

    def teardown(self) -> None:
        if hasattr(self, "lazy"):
            assert snapshot(self.lazy) == snapshot(self.stock)


def _surface(value: Any) -> Any:
    """As ``snapshot``, but without reading the properties of entities, which would decode them."""
    if isinstance(value, Entity):
        return Entity, set(value)
    if type(value) is list:
        return [_surface(item) for item in value]
    return snapshot(value)


def test_operations_in_any_order(lazy_type: type[LazyEntity]) -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    machine: Any = partial(Twins, lazy_type)
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=25))
