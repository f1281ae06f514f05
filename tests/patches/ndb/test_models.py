"""A model that is read under the patch is to its user the model that stock ndb makes.

Of an entity that stock ndb refuses to convert, only the faulty property cannot be read.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.patches.models.cases import ENTITIES, ModelCases, Operation
from tests.patches.models.machine import ModelTwins, run
from tests.patches.models.pairs import FEWER, assigning, is_lazy, reading
from tests.patches.models.shapes import Stored
from tests.patches.ndb.handmade import Address, Everything, Person, everything
from tests.patches.ndb.pairs import (
    Pair,
    lazy_model,
    patched,
    seen,
    stock_model,
    stored,
    without_class,
    written,
)
from tests.patches.ndb.raw_entities import (
    alone,
    changed_entities,
    entity_of,
    names_in,
    stored_entities,
)
from tests.support import hostile
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("either_context")


class TestModels(ModelCases):
    pair = Pair
    stored = stored_entities()
    changed = changed_entities()

    @staticmethod
    def of_values(name: Any) -> list[Operation]:
        """Return what App Engine's ndb, whose values hold the names as bytes, does not have."""
        return [
            copy.deepcopy,
            lambda values: {**values},
            lambda values: pickle.loads(pickle.dumps(values)),
            lambda values: dict([], **values) if all(map(str.isidentifier, values)) else None,
            lambda values: len(list(reversed(values))),
        ]

    @staticmethod
    def is_made_at_once(stored: Stored) -> bool:
        """Say whether a structured property is there as a whole and in parts."""
        names = names_in(stored.raw)
        return any("." in name and name.partition(".")[0] in names for name in names)

    @FEWER
    @given(stored=ENTITIES)
    def test_conversion_back(self, stored: Stored) -> None:
        """The entity that a model becomes is the same, read or not."""
        Pair.assumed(stored.raw).agree(
            model._entity_to_ds_entity,
            lambda entity: model._entity_to_ds_entity(entity, set_key=False),
        )


class Twins(ModelTwins):
    ndb = ndb
    kind = Pair
    entities = st.one_of(stored_entities(), changed_entities())

    def __init__(self) -> None:
        # The test is in a context.
        super().__init__(nullcontext())

    @staticmethod
    def type_of(value: Any) -> Any:
        """Return the type that stock's value has."""
        return Entity if isinstance(value, Entity) else type(value)

    @rule()
    def convert(self) -> None:
        self.pair.both(model._entity_to_ds_entity)


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run(Twins)


# Models with every property.

NAMES = sorted(prop._code_name for prop in Everything._properties.values())


@pytest.fixture
def raw() -> bytes:
    """An entity with everything."""
    return stored(everything())


@pytest.mark.parametrize("name", NAMES)
def test_one_property(raw: bytes, name: str) -> None:
    """It is the same, twice, and so is all the rest after it."""
    Pair.of(raw).agree(reading(name), reading(name), written)


def test_reading_one_property_makes_no_other() -> None:
    with ndb.context.get_context().new(legacy_data=False).use():
        raw = stored(Person(name="n", home=Address(street="s"), photo=b"p"))
    lazy = lazy_model(raw)
    with patched():
        assert lazy.name == "n"
    assert sorted(lazy._values._undecoded()) == ["h", "photo"]


def test_a_model_outlives_the_patch(raw: bytes) -> None:
    """Reads after ``unpatch()`` give the same."""
    stock, lazy = stock_model(raw), lazy_model(raw)
    assert isinstance(lazy, Everything)
    assert is_lazy(lazy)
    for name in NAMES:
        assert getattr(lazy, name) == getattr(stock, name) or name == "place"
    Pair(stock, lazy).agree()


def test_pickles_are_loaded_where_lazyentity_is_not(raw: bytes) -> None:
    """A process that cannot import lazyentity reads the pickle of a model."""
    program = (
        "import pickle, sys; sys.modules['lazyentity'] = None; "
        "from google.cloud import ndb; import tests.patches.ndb.handmade; "
        "from google.auth.credentials import AnonymousCredentials as A; "
        "c = ndb.Client(project='p', credentials=A()).context(); c.__enter__(); "
        "m = pickle.load(sys.stdin.buffer); assert type(m._values) is dict; "
        "print(m.integer, m.address.street, m.person.home.street, sorted(m._values))"
    )
    stock, lazy = stock_model(raw), lazy_model(raw)
    with patched():
        dumped = pickle.dumps(lazy)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=dumped,
        capture_output=True,
        check=False,
        env={"DATASTORE_EMULATOR_HOST": "127.0.0.1:1", "PYTHONPATH": "."},
    )
    assert ran.returncode == 0, ran.stderr.decode()
    streets = f"{stock.address.street} {stock.person.home.street}"
    expected = f"{stock.integer} {streets} {sorted(stock._values)}"
    assert ran.stdout.decode().strip() == expected


def test_a_projection(raw: bytes) -> None:
    """A model that was made a projection by hand has only these."""
    pair = Pair.of(raw)
    pair.both(lambda entity: entity._set_projection(["i", "text"]))
    for name in NAMES:
        pair.both(reading(name))
        pair.both(assigning(name, None))
    pair.both(repr)
    pair.both(lambda entity: entity.to_dict())


# Entities that stock ndb refuses.


def stock_value(raw: bytes, name: str, *parts: str) -> Any:
    """Make a model of a single property and return the property's value.

    Args:
        raw: the entity.
        name: of the property.
        parts: the names that the values of a structured property are under, beside its own.
    """
    return stock_model(alone(raw, "class", name, *parts))._values.get(name)


def told_by(read: Callable[[], Any]) -> str:
    """Return the text of the error that ``read`` raises, with its notes."""
    with patched(), pytest.raises(Exception) as caught:  # noqa: PT011  # any, it was compared
        read()
    notes: list[str] = getattr(caught.value, "__notes__", [])
    return " ".join([str(caught.value), *notes])


@FEWER
@given(stored=changed_entities(faulty=True), data=st.data())
def test_one_property_fails_alone(stored: Stored, data: st.DataObject) -> None:
    """Reading it raises stock's error each time and names the property; others can be read."""
    raw, names = stored.raw, names_in(stored.raw)
    expected = seen(lambda: stock_model(raw))
    assume(isinstance(expected, Raised))
    made = without_class(outcome(lazy_model, raw))
    if isinstance(made, Raised):
        # The error of a property, or of the key.
        causes = [seen(partial(stock_value, raw, name)) for name in names]
        assert made in [expected, seen(lambda: stock_model(alone(raw))), *causes]
        return
    assert is_lazy(made)
    errors = []
    for name in data.draw(st.permutations(list(made._values))):
        prop = made._properties[name]
        is_structured = isinstance(prop, ndb.StructuredProperty)
        parts = [part for part in names if is_structured and part.startswith(f"{name}.")]
        value = seen(partial(stock_value, raw, name, *parts))
        read = partial(made._values.__getitem__, name)
        for _ in range(2):
            with patched():
                assert seen(read) == value
        if isinstance(value, Raised):
            errors.append(value)
            assert name in told_by(read)
            if not isinstance(prop, ndb.ComputedProperty):
                # A computed property never reads the stored value.
                assert name in told_by(partial(getattr, made, prop._code_name))
    if expected not in errors:
        # Properties that the model does not take from the entity are not read.
        assert expected in [
            seen(partial(stock_value, raw, name)) for name in set(names) - set(made._values)
        ]
    if errors:
        with patched():
            assert seen(made._values.items) in errors


class Refusing(ndb.JsonProperty):
    """A property whose conversion from the entity raises any error."""

    _sort = ""

    def _from_datastore(self, ds_entity: Any, value: Any) -> Any:
        if self._sort:
            raise hostile.ERRORS[self._sort]()
        return super()._from_datastore(ds_entity, value)


class Refused(ndb.Model):
    refused = Refusing()
    plain = ndb.StringProperty()


REFUSED = entity_of("Refused", {"refused": b"[1]", "plain": "p"})


@pytest.mark.parametrize("sort", hostile.ERRORS)
def test_errors_of_any_class(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are raised as they are, whether they take notes and have a text or not."""
    monkeypatch.setattr(hostile.Unsayable, "__str__", lambda self: "said")
    monkeypatch.setattr(Refusing, "_sort", sort)
    expected = outcome(stock_model, REFUSED)
    assert isinstance(expected, Raised)
    lazy = lazy_model(REFUSED)
    assert is_lazy(lazy)
    with patched():
        for _ in range(2):
            assert outcome(lambda: lazy._values["refused"]) == expected
        assert lazy.plain == "p"
