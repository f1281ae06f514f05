"""Models that change while they are written: properties and other threads do that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.ext import ndb

from tests.patches.appengine.ndb.pairs import Pair, lazy_model, patched, written
from tests.patches.models.changing import CHANGES, act, assign, writing_and_changing
from tests.support.changing import meanwhile
from tests.support.snapshots import Raised


class Hooked(ndb.StringProperty):
    """A property that runs code when it is written."""

    def _to_base_type(self, value: Any) -> Any:
        act()
        return super()._to_base_type(value)


class ChangingAccount(ndb.Model):
    balance = ndb.IntegerProperty()
    flag = ndb.BooleanProperty()
    hooked = Hooked()
    limit = ndb.IntegerProperty()
    owner = ndb.StringProperty()
    tags = ndb.StringProperty(repeated=True)
    zone = ndb.FloatProperty()


_VALUES = {"balance": 1, "hooked": "h", "limit": 2, "owner": "o", "tags": ["a", "b"]}


def _raw(model: Any) -> bytes:
    raw: bytes = model._to_pb().SerializeToString()
    return raw


def _account() -> bytes:
    return _raw(ChangingAccount(id=1, flag=True, zone=1.5, **_VALUES))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_property_changes_the_others(change: Callable[[Any], object]) -> None:
    """The message is that of stock, and so is the model afterwards."""
    pair = Pair.from_raw(_account())
    sent = pair.both(writing_and_changing(written, change, lambda one: assign(one, hooked="new")))
    assert not isinstance(sent, Raised)
    pair.agree()
    pair.both(written)


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_a_model() -> None:
    """All that nobody touched is sent each time, and writing does not fail."""
    names = [f"p{number}" for number in range(40)]
    wide_type: Any = type(
        "ChangingWide", (ndb.Model,), {name: ndb.IntegerProperty() for name in names}
    )
    stored = {name: number for number, name in enumerate(names[:20])}
    raw = _raw(wide_type(id=1, **stored))
    for _ in range(20):
        wide = lazy_model(raw)
        # Values that the class has now and the entity lacks.
        for name in names[20:]:
            wide._values.pop(name.encode(), None)
        wide.p0 = 0

        def change(turn: int, wide: Any = wide) -> None:
            for name in names[20:]:
                setattr(wide, name, turn)
            for name in names[20:]:
                delattr(wide, name)

        def write(wide: Any = wide) -> None:
            for turn in range(40):
                if turn % 8 == 0:
                    _ = getattr(wide, names[turn // 4])
                kept = {
                    each.name: each.value.int64Value
                    for each in wide._to_pb().property
                    if each.name in stored
                }
                assert kept == stored

        with patched():
            meanwhile(change, write)
