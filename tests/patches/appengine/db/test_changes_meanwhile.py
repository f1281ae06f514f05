"""Models that change while they are made or written: properties and other threads do that."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db

from tests.patches.appengine.db.handmade import raw_entity
from tests.patches.appengine.db.pairs import Pair, lazy_model, patched, written
from tests.patches.models.changing import CHANGES, act, assign, writing_and_changing
from tests.support.changing import adding_and_deleting, meanwhile
from tests.support.concurrency import together


class Hooked(db.StringProperty):
    """A property that runs code when it is written."""

    def get_value_for_datastore(self, model_instance: Any) -> Any:
        act()
        return super().get_value_for_datastore(model_instance)


class ChangingAccount(db.Expando):
    balance = db.IntegerProperty()
    hooked = Hooked()
    limit = db.IntegerProperty()
    owner = db.StringProperty()
    tags = db.StringListProperty()


_VALUES = {
    "balance": 1,
    "hooked": "h",
    "limit": 2,
    "owner": "o",
    "tags": ["a", "b"],
    "dynamic": "d",
    "other": 3,
}


def _swap(model: Any) -> None:
    del model.dynamic
    model.later = 5


_CHANGES: dict[str, Callable[[Any], object]] = {
    **{name: CHANGES[name] for name in ("assigns", "replaces", "changes a list")},
    "reads": lambda one: (one.balance, one.limit, one.owner, one.dynamic),
    "adds": lambda one: setattr(one, "later", 5),
    "deletes": lambda one: delattr(one, "dynamic"),
    "swaps": _swap,
    "assigns dynamic ones": lambda one: assign(one, dynamic="new", other=4),
    "changes the entity": lambda one: one._entity.update({"balance": 10, "limit": 20, "new": 1}),
}


@pytest.mark.parametrize("change", _CHANGES.values(), ids=_CHANGES)
def test_a_property_changes_the_others(change: Callable[[Any], object]) -> None:
    """The message is that of stock, and so is the model afterwards."""
    pair = Pair.of(raw_entity("ChangingAccount", **_VALUES))
    pair.both(writing_and_changing(written, change))
    pair.agree()
    pair.both(written)


_NAMES = [f"p{number}" for number in range(20)]
_EXTRA = [f"extra{number}" for number in range(12)]
_WIDE = {name: number for number, name in enumerate(_NAMES)}


ChangingWide: Any = type(db.Model)(
    "ChangingWide", (db.Model,), {name: db.IntegerProperty() for name in _NAMES}
)


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_the_entity() -> None:
    """Models have all that stays in it, and making one does not fail."""
    raw = raw_entity("ChangingWide", **_WIDE)
    with patched():
        for _ in range(10):
            entity = datastore.Entity._FromPb(entity_pb2.EntityProto.FromString(raw))

            def act(entity: Any = entity) -> None:
                for turn in range(40):
                    if turn % 8 == 0:
                        _ = entity[_NAMES[turn // 8]]
                    model = ChangingWide.from_entity(entity)
                    assert {name: getattr(model, name) for name in _NAMES} == _WIDE

            meanwhile(adding_and_deleting(entity), act)


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_the_attributes() -> None:
    """A copy of all attributes has those that stay, and taking it does not fail."""
    raw = raw_entity("ChangingWide", **_WIDE)
    for _ in range(10):
        model = lazy_model(raw)

        def change(turn: int, model: Any = model) -> None:
            for name in _EXTRA:
                setattr(model, name, turn)
            for name in _EXTRA:
                delattr(model, name)

        def act(model: Any = model) -> None:
            for _ in range(100):
                for kept in (vars(model).copy(), copy.copy(vars(model))):
                    assert {name: kept[f"_{name}"] for name in _NAMES} == _WIDE

        with patched():
            meanwhile(change, act)


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_assigns_to_the_entity_of_a_model_that_is_read() -> None:
    """The assigned value stays in the entity, and the model has the one that it was made with."""
    raw = raw_entity("ChangingWide", p1=1)
    for _ in range(20):
        with patched():
            models = [db.model_from_protobuf(raw) for _ in range(1_000)]

        def work(number: int, models: Any = models) -> None:
            for model in models:
                if number:
                    model._entity["p1"] = 7
                else:
                    assert model.p1 == 1

        with patched():
            together(2, work)
        assert {model._entity["p1"] for model in models} == {7}
        assert {model.p1 for model in models} == {1}
