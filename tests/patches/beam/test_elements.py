"""Lazy elements against those that Beam makes of the same entities."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from apache_beam.io.gcp.datastore.v1new import types
from google.cloud.datastore.entity import Entity
from hypothesis import given, strategies as st

import lazyentity
from lazyentity.entity import LazyEntity
from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.elements import LazyElement, of_bytes
from tests.patches.beam.forms import client_form, form, stock_element
from tests.support.changing import adding_and_deleting, meanwhile
from tests.support.snapshots import Raised, geo_points_without_address, outcome
from tests.support.stock import content, stock_entity
from tests.support.strategies import Grammar, entities
from tests.support.strategies.samples import PLAIN, serialise

_CODER = ElementCoder()
_COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda element: pickle.loads(pickle.dumps(element)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "coder": lambda element: _CODER.decode(_CODER.encode(element)),
}
_INNER = Entity(types.Key(["Inner", 1], project="p").to_client_key(), ("deep",))
_INNER.update({"deep": [1, "two"], "number": 3})
RICH = serialise(
    {
        "number": 1,
        "text": "words",
        "list": [1, _INNER],
        "key": types.Key(["Other", "name"], project="p", namespace="n").to_client_key(),
        "inner": _INNER,
    },
    excluded=("text",),
    meanings={"text": 15, "number": 9},
)


@given(raw=entities(Grammar()))
def test_everything_read(raw: bytes) -> None:
    """An element of any entity has Beam's attributes, or gives Beam's error when it is read."""
    stock = outcome(stock_element, raw)
    lazy = of_bytes(raw)
    read = outcome(form, lazy)
    if isinstance(stock, Raised):
        assert isinstance(read, Raised)
        assert (read.kind, read.text) == (stock.kind, stock.text)
        return
    assert read == form(stock)
    with geo_points_without_address():
        # The order of properties may differ, also inside.
        assert repr(lazy) == repr(lazy._stock())
    for name, duplicate in _COPIES.items():
        assert form(duplicate(of_bytes(raw))) == form(stock), name
        # Pickling loses the nanoseconds of timestamps, also of a stock element.
        assert form(_pickled(duplicate(lazy))) == form(_pickled(stock)), name


def _pickled(element: Any) -> Any:
    made = types.Entity(element.key, element.exclude_from_indexes)
    made.set_properties(dict(element.properties))
    return pickle.loads(pickle.dumps(made))


@given(raw=entities(Grammar(nan=False)))
def test_equality(raw: bytes) -> None:
    stock = outcome(stock_element, raw)
    if isinstance(stock, Raised):
        return
    # Incomplete keys are not even equal to themselves.
    is_equal = stock_element(raw) == stock
    assert (of_bytes(raw) == stock) is is_equal
    assert (stock == of_bytes(raw)) is is_equal
    assert (of_bytes(raw) == of_bytes(raw)) is is_equal
    stock.properties["another"] = 1
    assert of_bytes(raw) != stock
    assert stock != of_bytes(raw)


@given(raw=entities(Grammar()), data=st.data())
def test_untouched_elements_are_written_as_they_came(raw: bytes, data: Any) -> None:
    """Keys, flags and simple values may be read before: that changes nothing."""
    element = of_bytes(raw)
    simple = [
        name
        for name, value in LazyEntity.from_bytes(raw).items()
        if not isinstance(value, (list, Entity, lazyentity.LazyEntity))
        and isinstance(value, (str, bytes, int, float, type(None)))
    ]
    for name in data.draw(st.sets(st.sampled_from(simple))) if simple else ():
        assert name in element.properties
        element.properties[name]
    outcome(lambda: (element.key, element.exclude_from_indexes))
    for each in (element, _COPIES["pickle"](element), _COPIES["coder"](element)):
        written = each.to_client_entity()
        assert isinstance(written, Entity)
        assert content(lazyentity.raw(written)) == content(raw)
    assert element.to_client_entity() is not element.to_client_entity()


def _embedded() -> types.Entity:
    made = types.Entity(types.Key(["Inner", 2]))
    made.set_properties({"number": 5})
    return made


_CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda one: None,
    "reads": lambda one: list(one.properties.values()),
    "assigns": lambda one: (
        one.properties.__setitem__("number", 77),
        one.properties.__setitem__("new", types.Key(["Other", 1])),
    ),
    "updates": lambda one: one.properties.update(number=77, new=types.Key(["Other", 1])),
    "assigns elements": lambda one: one.set_properties({"inner": _embedded(), "new": [1, None]}),
    "deletes": lambda one: (one.properties.__delitem__("text"), one.properties.pop("inner")),
    "replaces": lambda one: setattr(one, "properties", {"number": 5}),
    "changes a list": lambda one: one.properties["list"].append(5),
    "changes inside": lambda one: one.properties["inner"].properties.__setitem__("number", 78),
    "changes an inner key": lambda one: setattr(
        one.properties["inner"].key, "path_elements", ("Inner", 5)
    ),
    "changes a key": lambda one: setattr(one.properties["key"], "namespace", "another"),
    "sets the key": lambda one: setattr(
        one, "key", types.Key(["Kind", "another"], project="p", namespace="n")
    ),
    "sets the namespace": lambda one: setattr(one.key, "namespace", "another"),
    "takes the key": lambda one: setattr(one, "key", None),
    "takes the properties": lambda one: setattr(one, "properties", None),
    "excludes": lambda one: one.exclude_from_indexes.add("number"),
    "excludes a tuple": lambda one: setattr(one, "exclude_from_indexes", ("number", "new")),
    "remarks": lambda one: setattr(one, "remark", "kept"),
}


@pytest.mark.parametrize("change", ["nothing", "assigns", "deletes"])
@pytest.mark.parametrize("name", ["pickle", "coder"])
def test_loaded_inside_eager(name: str, change: str) -> None:
    """Beam's own element, with the changes; a copy is of the class that it was made of."""
    element, stock = of_bytes(RICH), stock_element(RICH)
    for each in (element, stock):
        _CHANGES[change](each)
    with lazyentity.eager():
        loaded = _COPIES[name](element)
        assert type(copy.copy(element)) is LazyElement
    assert type(loaded) is types.Entity
    assert form(loaded) == form(stock)


@pytest.mark.parametrize("name", _CHANGES)
def test_changes(name: str) -> None:
    """They are kept by copies, and written as Beam writes them; the other meanings stay."""
    stock, lazy = stock_element(RICH), of_bytes(RICH)
    for element in (stock, lazy):
        _CHANGES[name](element)
    written = outcome(lambda: client_form(stock.to_client_entity()))
    # Beam gives projects to keys when it writes them.
    expected = form(stock)
    for how, duplicate in {"itself": lambda element: element, **_COPIES}.items():
        made = duplicate(lazy)
        assert outcome(lambda made=made: client_form(made.to_client_entity())) == written, how
        assert form(made) == expected, how
    assert (of_bytes(RICH) == lazy) is (stock_element(RICH) == stock)
    if isinstance(written, Raised) or name in ("replaces", "remarks"):
        return
    meanings = {"text": 15, "number": 9}
    lost = {"assigns": "number", "updates": "number", "deletes": "text"}
    meanings.pop(lost.get(name, ""), None)
    # Of an element that nothing else has read.
    element = of_bytes(RICH)
    _CHANGES[name](element)
    message = stock_entity(lazyentity.raw(element.to_client_entity()))
    assert {each: meaning for each, (meaning, _) in message._meanings.items()} == meanings


def test_one_property_is_decoded_when_it_is_read() -> None:
    """Whether another one is malformed or not."""
    element = of_bytes(PLAIN + b"\x1a\x07\x0a\x03bad\x12\x00")
    assert len(element.properties) == 9
    assert "text" in element.properties
    assert lazyentity.decoded(element._entity()) == ()
    assert element.properties["text"] == "Grüße"
    assert lazyentity.decoded(element._entity()) == ("text",)
    with pytest.raises(ValueError, match="did not have any value set"):
        element.properties["bad"]


def test_embedded_elements_are_lazy() -> None:
    assert type(of_bytes(RICH).properties["inner"]) is types.Entity
    lazyentity.patch("beam", strict=True)
    embedded = of_bytes(RICH).properties["inner"]
    assert type(embedded) is LazyElement
    assert embedded == stock_element(RICH).properties["inner"]


_NAMES = [f"p{number}" for number in range(20)]
_VALUES: dict[str, Any] = {name: number for number, name in enumerate(_NAMES)}


_USES: dict[str, Callable[[Any], Any]] = {
    "encode": lambda element: ElementCoder().decode(ElementCoder().encode(element)).properties,
    "items": lambda element: dict(element.properties.items()),
    "copy": lambda element: element.properties.copy(),
    "changes": lambda element: {**_VALUES, **element.properties.changes()[0]},
}


@pytest.mark.parametrize("use", _USES.values(), ids=_USES)
@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_changes_an_element(use: Callable[[Any], Any]) -> None:
    """All that stays is there each time, and nothing fails."""
    raw = serialise(_VALUES)
    for _ in range(6):
        element = of_bytes(raw)

        def act(element: Any = element) -> None:
            for turn in range(40):
                if turn % 8 == 0:
                    _ = element.properties[_NAMES[turn // 8]]
                used = use(element)
                assert {name: used[name] for name in _NAMES} == _VALUES

        meanwhile(adding_and_deleting(element.properties), act)
