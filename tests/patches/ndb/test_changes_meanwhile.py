"""Models that change while they are written: properties and other threads do that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model

from lazyentity import LazyEntity
from tests.patches.models.changing import CHANGES, act, swap, writing_and_changing
from tests.patches.ndb.pairs import CLIENT, Pair, lazy_model, patched, written
from tests.patches.ndb.raw_entities import entity_of
from tests.support.changing import meanwhile, rebuild
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("either_context")


class Hooked(ndb.StringProperty):
    """A property that runs code when it is written."""

    def _to_base_type(self, value: Any) -> Any:
        act()
        return value


class ChangingAccount(ndb.Model):
    balance = ndb.IntegerProperty()
    hooked = Hooked()
    limit = ndb.IntegerProperty()
    owner = ndb.StringProperty()
    tags = ndb.StringProperty(repeated=True)


class ChangingExpando(ndb.Expando):
    hooked = Hooked()


_VALUES = {"balance": 1, "hooked": "h", "limit": 2, "owner": "o", "tags": ["a", "b"]}


def _write_and_change(change: Callable[[Any], object]) -> Callable[[Any], Any]:
    return writing_and_changing(written, change, lambda one: setattr(one, "hooked", "new"))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_property_changes_the_others(change: Callable[[Any], object]) -> None:
    """What is sent, and what the model is then, is as in stock."""
    pair = Pair.of(entity_of("ChangingAccount", _VALUES))
    sent = pair.both(_write_and_change(change))
    assert not isinstance(sent, Raised)
    pair.agree()
    pair.both(written)


_DYNAMIC_CHANGES: dict[str, tuple[Callable[[Any], object], bool]] = {
    "adds": (lambda one: setattr(one, "later", 5), True),
    "deletes": (lambda one: delattr(one, "limit"), True),
    "swaps": (swap, False),
    "assigns": (CHANGES["assigns"], False),
    "reads": (CHANGES["reads"], False),
    "retypes": (lambda one: setattr(one, "limit", [1, 2]), False),
}


@pytest.mark.parametrize(("change", "raises"), _DYNAMIC_CHANGES.values(), ids=_DYNAMIC_CHANGES)
def test_a_property_changes_dynamic_ones(change: Callable[[Any], object], *, raises: bool) -> None:
    """As in stock: an error, where the properties are not those any more; nothing is lost."""
    pair = Pair.of(entity_of("ChangingExpando", _VALUES))
    sent = pair.both(_write_and_change(change))
    assert isinstance(sent, Raised) is raises
    if raises:
        assert sent.text == "dictionary changed size during iteration"
    pair.agree()
    pair.both(written)


def test_nothing_is_left_out() -> None:
    """Stock leaves out properties of such a dict without an error."""
    values = {f"p{number}": number for number in range(20)}
    for place in range(1, 20):
        changing = lazy_model(entity_of("ChangingExpando", values))
        name = list(changing._properties)[place]
        # A dynamic property of its class, in the place of the one that was there.
        changing._properties[name] = hooked = Hooked(name)
        hooked._code_name = name
        hooked._set_value(changing, "new")
        with patched():
            write = writing_and_changing(
                model._entity_to_ds_entity,
                lambda one: rebuild(one._properties, made=ndb.GenericProperty),
            )
            sent = outcome(write, changing)
        if isinstance(sent, Raised):
            assert sent.kind is RuntimeError
        else:
            assert sent.keys() >= values.keys()


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_a_model() -> None:
    """All that nobody touched is sent each time, and writing does not fail."""
    names = [f"p{number}" for number in range(40)]
    _ = type("ChangingWide", (ndb.Model,), {name: ndb.IntegerProperty() for name in names})
    stored = names[:20]
    raw = entity_of("ChangingWide", {name: number for number, name in enumerate(stored)})
    for _ in range(20):
        wide = lazy_model(raw)

        def change(turn: int, wide: Any = wide) -> None:
            with CLIENT.context():
                for name in names[20:]:
                    setattr(wide, name, turn)
                for name in names[20:]:
                    delattr(wide, name)

        def write(wide: Any = wide) -> None:
            with CLIENT.context():
                for _ in range(40):
                    sent: Any = model._entity_to_ds_entity(wide)
                    assert isinstance(sent, (Entity, LazyEntity))
                    kept = {name: sent[name] for name in stored}
                    assert kept == {name: number for number, name in enumerate(stored)}

        with patched():
            meanwhile(change, write)
