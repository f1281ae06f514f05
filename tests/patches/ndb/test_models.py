"""A model that is read under the patch is to its user the model that stock ndb makes.

Of an entity that stock ndb refuses to convert, only the faulty property cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from google.cloud import ndb
from hypothesis import assume, given, strategies as st

from tests.patches.models.cases import ModelCases
from tests.patches.models.machine import run
from tests.patches.models.pairs import FEWER, is_lazy
from tests.patches.models.shapes import Stored
from tests.patches.ndb.pairs import (
    Pair,
    Twins,
    eager_model,
    lazy_model,
    patched,
    seen,
    stock_model,
    stored,
    without_class,
)
from tests.patches.ndb.raw_entities import (
    Address,
    Person,
    alone,
    changed_entities,
    names_in,
    stored_entities,
)
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("either_context")


class TestModels(ModelCases):
    pair = Pair
    stored = stored_entities()
    changed = changed_entities()

    @staticmethod
    def is_made_at_once(stored: Stored) -> bool:
        """Say whether a structured property is there as a whole and in parts."""
        names = names_in(stored.raw)
        return any("." in name and name.partition(".")[0] in names for name in names)


class GeneratedTwins(Twins):
    entities = st.one_of(stored_entities(), changed_entities())


def test_operations_in_any_order() -> None:
    """After each of any sequence of operations the two cannot be told apart."""
    run(GeneratedTwins)


def test_reading_one_property_makes_no_other() -> None:
    with ndb.context.get_context().new(legacy_data=False).use():
        raw = stored(Person(name="n", home=Address(street="s"), photo=b"p"))
    lazy = lazy_model(raw)
    with patched():
        assert lazy.name == "n"
    assert sorted(lazy._values._undecoded()) == ["h", "photo"]


@FEWER
@given(stored=stored_entities())
def test_eager_models(stored: Stored) -> None:
    """They are stock ndb's throughout."""
    Pair(stock_model(stored.raw), eager_model(stored.raw)).agree()


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
