"""Lazy elements against those that Beam makes of the same entities."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from apache_beam.io.gcp.datastore.v1new import types
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from hypothesis import given
from hypothesis import strategies as st

import lazyentity
from lazyentity.entity import LazyEntity
from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.elements import LazyElement, of_bytes
from tests.patches.beam.forms import client_form, form, stock_element
from tests.support import hostile
from tests.support.snapshots import Raised, geo_points_without_address, outcome
from tests.support.stock import EntityMessage, content, stock_entity
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


@pytest.mark.parametrize("name", ["pickle", "coder"])
def test_loaded_inside_eager(name: str) -> None:
    """Beam's own element, with the changes; a copy is of the class that it was made of."""
    changes: tuple[Callable[[Any], None], ...] = (_leave, _change)
    for change in changes:
        element: Any = of_bytes(RICH)
        change(element)
        with lazyentity.eager():
            loaded = _COPIES[name](element)
            assert type(copy.copy(element)) is LazyElement
        assert type(loaded) is types.Entity
        stock = stock_element(RICH)
        change(stock)
        assert form(loaded) == form(stock)


def _leave(_: Any) -> None: ...


def _change(element: Any) -> None:
    element.properties["number"] = 5
    del element.properties["text"]


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


def test_an_unpatched_process_writes_meanings_too() -> None:
    """A worker may have got elements by pickles alone, which patch nothing."""
    element = pickle.loads(pickle.dumps(of_bytes(RICH)))
    written = helpers.entity_to_protobuf(element.to_client_entity())
    assert content(written._pb.SerializeToString()) == content(RICH)
    assert lazyentity.patched() == ()


def _change_key(element: Any) -> None:
    element.key = types.Key(["Kind", "another"], project="p", namespace="n")


def _change_namespace(element: Any) -> None:
    element.key.namespace = "another"


def _no_key(element: Any) -> None:
    element.key = None


def _exclude(element: Any) -> None:
    element.exclude_from_indexes.add("number")


def _exclude_a_tuple(element: Any) -> None:
    element.exclude_from_indexes = ("number", "new")


def _assign(element: Any) -> None:
    element.properties["number"] = 77
    element.properties["new"] = types.Key(["Other", 1])


def _assign_elements(element: Any) -> None:
    embedded = types.Entity(types.Key(["Inner", 2]))
    embedded.set_properties({"number": 5})
    element.set_properties({"inner": embedded, "new": [1, None]})


def _delete(element: Any) -> None:
    del element.properties["text"]
    element.properties.pop("inner")


def _change_list(element: Any) -> None:
    element.properties["list"].append(5)


def _change_inside(element: Any) -> None:
    element.properties["inner"].properties["number"] = 78


def _change_inner_key(element: Any) -> None:
    element.properties["inner"].key.path_elements = ("Inner", 5)


def _change_key_property(element: Any) -> None:
    element.properties["key"].namespace = "another"


def _replace(element: Any) -> None:
    element.properties = {"number": 5}


def _remark(element: Any) -> None:
    element.remark = "kept"


def _read(element: Any) -> None:
    list(element.properties.values())


_CHANGES = [
    _assign,
    _assign_elements,
    _change_inner_key,
    _change_inside,
    _change_key,
    _change_key_property,
    _change_list,
    _change_namespace,
    _delete,
    _exclude,
    _exclude_a_tuple,
    _no_key,
    _read,
    _remark,
    _replace,
]


@pytest.mark.parametrize("change", _CHANGES)
def test_changes(change: Callable[[Any], None]) -> None:
    """They are kept by copies, and written as Beam writes them."""
    stock, lazy = stock_element(RICH), of_bytes(RICH)
    for element in (stock, lazy):
        change(element)
    written = outcome(lambda: client_form(stock.to_client_entity()))
    # Beam gives projects to keys when it writes them.
    expected = form(stock)
    for name, duplicate in {"itself": lambda element: element, **_COPIES}.items():
        made = duplicate(lazy)
        assert outcome(lambda made=made: client_form(made.to_client_entity())) == written, name
        assert form(made) == expected, name
    stock_again = of_bytes(RICH)
    assert (stock_again == lazy) is (stock_element(RICH) == stock)


@pytest.mark.parametrize("change", _CHANGES)
def test_meanings_of_what_is_unchanged(change: Callable[[Any], None]) -> None:
    element = of_bytes(RICH)
    change(element)
    written = outcome(element.to_client_entity)
    if isinstance(written, Raised) or change in (_replace, _remark):
        return
    message = stock_entity(lazyentity.raw(written))
    expected = {"text": 15, "number": 9}
    lost: dict[Any, set[str]] = {_assign: {"number"}, _delete: {"text"}}
    changed = lost.get(change, set())
    assert {name: meaning for name, (meaning, _) in message._meanings.items()} == {
        name: meaning for name, meaning in expected.items() if name not in changed
    }


def test_one_property_is_decoded_when_it_is_read() -> None:
    element = of_bytes(PLAIN)
    assert len(element.properties) == 8
    assert "text" in element.properties
    assert lazyentity.decoded(element._entity()) == ()
    assert element.properties["text"] == "Grüße"
    assert lazyentity.decoded(element._entity()) == ("text",)


def test_embedded_elements_are_lazy() -> None:
    element = of_bytes(RICH)
    embedded = element.properties["inner"]
    assert type(embedded) is types.Entity
    lazyentity.patch("beam", strict=True)
    embedded = of_bytes(RICH).properties["inner"]
    assert type(embedded) is LazyElement
    assert embedded == stock_element(RICH).properties["inner"]
    lazyentity.unpatch()


def test_shallow_copies_share_their_attributes() -> None:
    """As those of stock elements."""
    element = of_bytes(RICH)
    duplicate = copy.copy(element)
    duplicate.properties["number"] = 5
    assert element.properties["number"] == 5
    assert duplicate.key is element.key


def test_of_the_class_there_is_no_attribute() -> None:
    for name in ("key", "properties", "exclude_from_indexes"):
        assert not hasattr(types.Entity, name)
        assert not hasattr(LazyElement, name)


def test_has_no_hash() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(of_bytes(PLAIN))


def test_a_malformed_property_raises_when_it_is_read() -> None:
    raw = serialise({"good": 1}) + b"\x1a\x07\x0a\x03bad\x12\x00"
    element = of_bytes(raw)
    assert element.properties["good"] == 1
    with pytest.raises(ValueError, match="did not have any value set"):
        element.properties["bad"]
    assert element.properties["good"] == 1


@pytest.mark.parametrize("sort", hostile.VALUES)
def test_the_error_of_a_property_with_a_hostile_key(
    sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the client's, whatever texts keys and names have."""
    message = EntityMessage()
    message.key.partition_id.project_id = "p"
    message.key.path.add(kind="Kind", id=1)
    message.properties["bad"].meaning = 9
    message.properties["good"].integer_value = 1
    raw = message.SerializeToString()
    expected = outcome(stock_element, raw)
    assert isinstance(expected, Raised)
    element = of_bytes(raw)
    monkeypatch.setattr(Key, "__repr__", lambda self: repr(hostile.VALUES[sort]()))
    with lazyentity.profile():
        for name in ("bad", hostile.Name("bad")):
            assert outcome(element.properties.__getitem__, name) == expected
        assert element.properties[hostile.Name("good")] == 1
