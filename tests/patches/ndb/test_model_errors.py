"""Entities that stock ndb refuses to convert: only the faulty property cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.key import Key
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.patches.models.pairs import FEWER, is_lazy
from tests.patches.models.shapes import Stored
from tests.patches.ndb import raw_entities
from tests.patches.ndb.model_strategies import changed_entities
from tests.patches.ndb.pairs import lazy_model, patched, seen, stock_model, without_class
from tests.patches.ndb.raw_entities import FAULTS
from tests.support import hostile
from tests.support.snapshots import Raised, outcome
from tests.support.stock import EntityMessage

pytestmark = pytest.mark.usefixtures("either_context")


@FEWER
@given(stored=changed_entities(faulty=True), data=st.data())
def test_one_property_fails_alone(stored: Stored, data: st.DataObject) -> None:
    """Reading it raises stock's error each time and names the property; others can be read."""
    expected = seen(lambda: stock_model(stored.raw))
    assume(isinstance(expected, Raised))
    made = without_class(outcome(lazy_model, stored.raw))
    if isinstance(made, Raised):
        # The error of one of the properties, or of the key.
        bare = EntityMessage.FromString(stored.raw)
        bare.ClearField("properties")
        assert made == expected or made in [
            seen(lambda: stock_model(bare.SerializeToString())),
            *(
                seen(partial(stock_value, stored.raw, name))
                for name in raw_entities.names_in(stored.raw)
            ),
        ]
        return
    assert is_lazy(made)
    errors = []
    for name in data.draw(st.permutations(list(made._values))):
        parts = parts_of(made, name, stored.raw)
        value = seen(partial(stock_value, stored.raw, name, *parts))
        for _ in range(2):
            with patched():
                assert seen(partial(made._values.__getitem__, name)) == value
        if isinstance(value, Raised):
            errors.append(value)
            assert name in told_by(partial(made._values.__getitem__, name))
            prop = made._properties[name]
            if not isinstance(prop, ndb.ComputedProperty):
                # A computed property never reads the stored value.
                assert name in told_by(partial(getattr, made, prop._code_name))
    if expected not in errors:
        # Properties that the model does not take from the entity are not read.
        rest = set(raw_entities.names_in(stored.raw)) - set(made._values)
        assert expected in [seen(partial(stock_value, stored.raw, name)) for name in rest]
    if errors:
        with patched():
            assert seen(made._values.items) in errors


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
def test_a_property_of_a_sub_model_fails_alone(fault: Any) -> None:
    """Where stock makes no model at all, the properties beside the faulty one can be read."""
    message = EntityMessage()
    message.key.partition_id.project_id = "p"
    message.key.path.add(kind="Everything", id=5)
    inner = message.properties["address"].entity_value.properties
    inner["s"].CopyFrom(fault)
    inner["number"].integer_value = 5
    message.properties["i"].integer_value = 1
    raw = message.SerializeToString()
    expected = seen(lambda: stock_model(raw))
    lazy = lazy_model(raw)
    with patched():
        assert lazy.integer == 1
        assert lazy.address.number == 5
        for _ in range(2):
            assert seen(lambda: lazy.address.street) == expected
    assert "'s'" in told_by(lambda: lazy.address.street)


def stock_value(raw: bytes, name: str, *parts: str) -> Any:
    """Make a model of one property alone and return the property's value.

    Args:
        raw: the entity.
        name: of the property.
        parts: the names that the values of a structured property are under, beside its own.
    """
    return stock_model(raw_entities.alone(raw, "class", name, *parts))._values.get(name)


def parts_of(made: Any, name: str, raw: bytes) -> list[str]:
    """Return the dotted names of the values of a property; none unless it is structured."""
    if not isinstance(made._properties[name], ndb.StructuredProperty):
        return []
    return [part for part in raw_entities.names_in(raw) if part.startswith(f"{name}.")]


def told_by(read: Callable[[], Any]) -> str:
    """Return the text of the error that ``read`` raises, with its notes."""
    with patched(), pytest.raises(Exception) as caught:  # noqa: PT011  # any, it was compared
        read()
    notes: list[str] = getattr(caught.value, "__notes__", [])
    return " ".join([str(caught.value), *notes])


@FEWER
@given(stored=changed_entities(faulty=True))
def test_nothing_is_refused_that_stock_makes(stored: Stored) -> None:
    """An error is an error on both sides; it may come later under the patch, never sooner."""
    made = outcome(lazy_model, stored.raw)
    if isinstance(made, Raised):
        assert isinstance(outcome(stock_model, stored.raw), Raised)


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


def _refused() -> bytes:
    message = EntityMessage()
    message.key.partition_id.project_id = "p"
    message.key.path.add(kind="Refused", id=5)
    message.properties["refused"].blob_value = b"[1]"
    message.properties["plain"].string_value = "p"
    raw: bytes = message.SerializeToString()
    return raw


@pytest.mark.parametrize("sort", hostile.ERRORS)
def test_errors_of_any_class(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are raised as they are, whether they take notes and have a text or not."""
    monkeypatch.setattr(hostile.Unsayable, "__str__", lambda self: "said")
    monkeypatch.setattr(Refusing, "_sort", sort)
    expected = outcome(stock_model, _refused())
    assert isinstance(expected, Raised)
    lazy = lazy_model(_refused())
    assert is_lazy(lazy)
    with patched():
        for _ in range(2):
            assert outcome(lambda: lazy._values["refused"]) == expected
        assert lazy.plain == "p"


@pytest.mark.parametrize("sort", hostile.VALUES)
def test_keys_without_a_text(sort: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An application may give keys any text, or none."""
    monkeypatch.setattr(Refusing, "_sort", "immutable")
    expected = outcome(stock_model, _refused())
    lazy = lazy_model(_refused())
    monkeypatch.setattr(Key, "__repr__", lambda self: repr(hostile.VALUES[sort]()))
    with patched():
        for name in ("refused", hostile.Name("refused")):
            assert outcome(lazy._values.__getitem__, name) == expected
