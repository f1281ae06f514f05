"""The coder of elements, and where Beam takes it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from apache_beam import coders
from apache_beam.internal import pickler
from apache_beam.io.gcp.datastore.v1new import types
from apache_beam.typehints import Tuple

import lazyentity
from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.elements import LazyElement, of_bytes
from tests.patches.beam.forms import form, stock_element
from tests.patches.beam.test_elements import RICH
from tests.support.strategies.samples import PLAIN

_CODER = ElementCoder()
_BEAMS = coders.FastPrimitivesCoder()


def test_an_untouched_element_is_the_bytes_that_came() -> None:
    element = of_bytes(PLAIN)
    assert element.properties["text"] == "Grüße"
    encoded = _CODER.encode(element)
    assert encoded[1:] == PLAIN
    decoded = _CODER.decode(encoded)
    assert type(decoded) is LazyElement
    assert vars(decoded) == {}


@pytest.mark.parametrize("value", [stock_element(RICH), ("a", 1), None, [of_bytes(PLAIN)]])
def test_other_values_are_encoded_as_by_beam(value: Any) -> None:
    """A type hint may be wrong, and elements come from elsewhere, too."""
    encoded = _CODER.encode(value)
    assert encoded[1:] == _BEAMS.encode(value)
    assert _CODER.decode(encoded) == value


def test_inside_of_other_coders() -> None:
    lazyentity.patch("beam", strict=True)
    coder = coders.registry.get_coder(Tuple[str, types.Entity])
    values = ("key", of_bytes(RICH)), ("", stock_element(RICH))
    for value in values:
        name, element = coder.decode(coder.encode(value))
        assert (name, form(element)) == (value[0], form(value[1]))
    assert PLAIN in coder.encode(("key", of_bytes(PLAIN)))
    windowed = coders.IterableCoder(ElementCoder())
    assert [form(each) for each in windowed.decode(windowed.encode([of_bytes(PLAIN)] * 2))] == [
        form(stock_element(PLAIN))
    ] * 2


def test_in_untyped_collections_bytes_travel_too() -> None:
    """Beam pickles values of types that it does not know."""
    encoded = _BEAMS.encode(("key", of_bytes(PLAIN)))
    assert PLAIN in encoded
    assert len(encoded) < len(PLAIN) + 150
    assert form(_BEAMS.decode(encoded)[1]) == form(stock_element(PLAIN))


def test_is_as_deterministic_as_beams() -> None:
    assert _CODER.is_deterministic() is _BEAMS.is_deterministic()
    ours, theirs = (each.as_deterministic_coder("step") for each in (_CODER, _BEAMS))
    assert type(ours) is type(theirs)
    for element in (of_bytes(PLAIN), stock_element(PLAIN)):
        with pytest.raises(TypeError, match="deterministically encode"):
            ours.encode(element)


def test_identity() -> None:
    assert ElementCoder() == _CODER
    assert hash(ElementCoder()) == hash(_CODER)
    assert _CODER != _BEAMS
    assert _CODER.to_type_hint() is types.Entity
    assert _CODER.estimate_size(of_bytes(PLAIN)) == len(PLAIN) + 1


def test_is_sent_to_the_workers() -> None:
    for loads, dumps in ((pickle.loads, pickle.dumps), (pickler.loads, pickler.dumps)):
        lazyentity.unpatch()
        assert loads(dumps(_CODER)) == _CODER
        assert {"datastore", "beam"} <= {*lazyentity.patched()}


def test_is_the_coder_of_elements_while_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(coders.registry.get_coder(types.Entity)) is coders.FastPrimitivesCoder
    assert type(coders.registry.get_coder(LazyElement)) is ElementCoder
    lazyentity.patch("beam", strict=True)
    assert type(coders.registry.get_coder(types.Entity)) is ElementCoder
    assert type(coders.registry.get_coder(types.Key)) is coders.FastPrimitivesCoder
    lazyentity.unpatch("beam")
    assert type(coders.registry.get_coder(types.Entity)) is coders.FastPrimitivesCoder


def test_a_coder_of_the_application_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(coders.registry._coders, types.Entity, coders.PickleCoder)
    assert type(coders.registry.get_coder(LazyElement)) is coders.PickleCoder
    lazyentity.patch("beam", strict=True)
    for typehint in (types.Entity, LazyElement):
        assert type(coders.registry.get_coder(typehint)) is coders.PickleCoder
