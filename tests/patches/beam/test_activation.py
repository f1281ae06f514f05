"""Patching Beam's connector, here and in the workers."""

from __future__ import annotations

import copy
import logging
import pickle
import sys
from typing import Any

import pytest
from apache_beam import coders
from apache_beam.internal import pickler
from apache_beam.io.gcp.datastore.v1new import datastoreio, types
from apache_beam.typehints import Tuple
from google.cloud import datastore

import lazyentity
from lazyentity.beam import ReadFromDatastore
from lazyentity.entity import LazyEntity
from lazyentity.patches.beam.coders import ElementCoder
from lazyentity.patches.beam.elements import LazyElement, of_bytes
from lazyentity.patches.beam.reads import QueryFn
from tests.patches.beam.forms import form, stock_element
from tests.patches.beam.test_elements import RICH
from tests.profiling.receiving import FIVE, Response
from tests.support.strategies.samples import PLAIN


@pytest.mark.parametrize("eager", [None, True])
def test_conversion(eager: bool | None) -> None:
    """A lazy entity that nobody has touched becomes a lazy element, every other one Beam's."""
    expected = form(stock_element(RICH))
    lazyentity.patch("beam", strict=True, eager=eager)
    convert = types.Entity.from_client_entity
    entity: Any = LazyEntity.from_bytes(RICH)
    element = convert(entity)
    assert type(element) is LazyElement
    entity["number"] = 5
    assert form(element) == expected
    read: Any = LazyEntity.from_bytes(RICH)
    read.pop("number")
    for touched in (entity, read, lazyentity.materialize(entity)):
        made = convert(touched)
        assert type(made) is types.Entity
        assert dict(made.properties).keys() == touched.keys()
    keyed: Any = LazyEntity.from_bytes(RICH)
    assert keyed.key.id_or_name == "name"
    assert type(convert(keyed)) is LazyElement
    keyed.key = datastore.Key("Kind", 5, project="p")
    assert convert(keyed).key.path_elements == ("Kind", 5)


@pytest.mark.parametrize("make", [QueryFn, ElementCoder])
@pytest.mark.parametrize("by", [pickle, pickler])
def test_a_part_that_is_unpickled_has_patched_the_process(make: Any, by: Any) -> None:
    part = make()
    if make is QueryFn:
        part.remark = "kept"
    made = by.loads(by.dumps(part))
    assert type(made) is make
    assert vars(made) == vars(part)
    assert {*lazyentity.patched()} == {"datastore", "beam"}


def test_a_disabled_worker_reads_as_beam_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    with caplog.at_level(logging.WARNING, "lazyentity"):
        assert type(copy.deepcopy(QueryFn())) is QueryFn
    assert "LAZYENTITY_DISABLE" in caplog.text
    assert lazyentity.patched() == ()


@pytest.mark.parametrize("make", [QueryFn, ElementCoder])
def test_a_worker_without_lazyentity(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    pickled = pickler.dumps(make())
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazyentity"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"lazyentity.* 'apache-beam\[gcp\]'") as caught:
        pickler.loads(pickled)
    assert "worker" in str(caught.value)


def test_transform_takes_and_shows_what_beams_does() -> None:
    query = types.Query("Kind", "p", namespace="n", filters=[("a", "=", 1)])
    ours, theirs = (
        read(query, num_splits=5) for read in (ReadFromDatastore, datastoreio.ReadFromDatastore)
    )
    assert isinstance(ours, datastoreio.ReadFromDatastore)
    assert ours.display_data() == theirs.display_data()
    assert issubclass(ours.get_type_hints().simple_output_type(""), types.Entity)
    for arguments in ((types.Query("Kind"),), (query, -1)):
        errors = []
        for read in (ReadFromDatastore, datastoreio.ReadFromDatastore):
            with pytest.raises(ValueError, match=r"project|num_splits") as caught:
                read(*arguments)
            errors.append(str(caught.value))
        assert errors[0] == errors[1]


def test_without_beam_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*sys.modules]:
        if name.startswith("lazyentity.patches.beam.") or name == "lazyentity.beam":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    with pytest.raises(ImportError, match=r"pip install 'apache-beam\[gcp\]'"):
        import lazyentity.beam  # noqa: F401


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


def _coder_of(typehint: Any) -> Any:
    return type(coders.registry.get_coder(typehint))


def test_is_the_coder_of_elements_while_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the application has another."""
    assert _coder_of(types.Entity) is coders.FastPrimitivesCoder
    assert _coder_of(LazyElement) is ElementCoder
    lazyentity.patch("beam", strict=True)
    assert _coder_of(types.Entity) is ElementCoder
    assert _coder_of(types.Key) is coders.FastPrimitivesCoder
    monkeypatch.setitem(coders.registry._coders, types.Entity, coders.PickleCoder)
    assert _coder_of(types.Entity) is _coder_of(LazyElement) is coders.PickleCoder
    monkeypatch.undo()
    lazyentity.unpatch("beam")
    assert _coder_of(types.Entity) is coders.FastPrimitivesCoder


def test_pickles_of_a_profiled_element() -> None:
    """An element of which nothing was changed is pickled as its bytes, while a profile runs too."""
    lazyentity.patch("beam")
    with lazyentity.profile():
        (entity,) = Response(lazyentity.backend, [FIVE]).entities()
        element = types.Entity.from_client_entity(entity)
        unread = pickle.dumps(element)
        assert element.properties["a"] == 1
        assert pickle.dumps(element) == unread
    assert len(unread) < len(FIVE) + 100
    assert pickle.loads(unread) == element
