"""Models that are changed, written, and written again, and that change while they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model

from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from tests.patches.models.changing import CHANGES, Change, act, swap, writing_and_changing
from tests.patches.ndb.pairs import CLIENT, Pair, lazy_model, patched, stored, written
from tests.patches.ndb.raw_entities import entity_of
from tests.support.changing import meanwhile
from tests.support.snapshots import Raised

pytestmark = pytest.mark.usefixtures("either_context")


# Properties and other threads that change a model meanwhile.


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


def set_anew(one: Any) -> None:
    """Take a property away, and set it."""
    del one.limit
    one.limit = 7


_DYNAMIC_CHANGES: dict[str, Change] = {
    "adds": lambda one: setattr(one, "later", 5),
    "deletes one": lambda one: delattr(one, "limit"),
    "swaps": swap,
    "sets one anew": set_anew,
    "assigns": CHANGES["assigns"],
    "reads": CHANGES["reads"],
    "retypes": lambda one: setattr(one, "limit", [1, 2]),
}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("ChangingAccount", name) for name in CHANGES),
        *(("ChangingExpando", name) for name in _DYNAMIC_CHANGES),
    ],
)
def test_a_property_changes_the_others(kind: str, name: str) -> None:
    """The message that is sent, and the model afterwards, are as in stock; nothing is lost.

    Stock raises where the dynamic properties are not those any more.
    """
    values = {"balance": 1, "hooked": "h", "limit": 2, "owner": "o", "tags": ["a", "b"]}
    is_dynamic = kind == "ChangingExpando"
    change = (_DYNAMIC_CHANGES if is_dynamic else CHANGES)[name]
    pair = Pair.from_raw(entity_of(kind, values))
    write = writing_and_changing(written, change, lambda one: setattr(one, "hooked", "new"))
    sent = pair.both(write)
    assert isinstance(sent, Raised) is (is_dynamic and name in ("adds", "deletes one"))
    if isinstance(sent, Raised):
        assert sent.text == "dictionary changed size during iteration"
    pair.agree()
    pair.agree(written)


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_a_model() -> None:
    """All that nobody touched is sent each time, and writing does not fail."""
    names = [f"p{number}" for number in range(40)]
    type("ChangingWide", (ndb.Model,), {name: ndb.IntegerProperty() for name in names})
    stored = {name: number for number, name in enumerate(names[:20])}
    for _ in range(20):
        wide = lazy_model(entity_of("ChangingWide", stored))

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
                    assert {name: sent[name] for name in stored} == stored

        with patched():
            meanwhile(change, write)


# The sentinel that got out of a model's values.


class Noted(ndb.Model):
    """With one value of each kind of property that takes anything."""

    text = ndb.StringProperty()
    other = ndb.GenericProperty()
    several = ndb.GenericProperty(repeated=True)


def _lazy() -> Any:
    lazy = lazy_model(stored(Noted(text="one", other=1, several=[1])))
    assert dict.get(lazy._values, "text") is UNDECODED
    return lazy


@pytest.mark.parametrize("make", [_lazy, Noted], ids=["lazy", "stock"])
@pytest.mark.parametrize(
    "change",
    [
        lambda entity: setattr(entity, "other", UNDECODED),
        lambda entity: setattr(entity, "several", [1, UNDECODED]),
        lambda entity: dict.__setitem__(entity._values, "other", [UNDECODED]),
    ],
    ids=["a value", "several", "past the methods"],
)
def test_the_sentinel_is_not_written(
    make: Callable[[], Any], change: Callable[[Any], object]
) -> None:
    """Whether setting it is refused, or writing the model."""
    entity = make()

    def change_and_write() -> None:
        change(entity)
        written(entity)

    with patched(), pytest.raises((TypeError, ValueError), match=r"[Uu]ndecoded|not read yet"):
        change_and_write()
