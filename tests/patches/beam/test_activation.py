"""Patching Beam's connector, here and in the workers."""

from __future__ import annotations

import copy
import logging
import pickle
import sys
from typing import Any

import pytest
from apache_beam.internal import pickler
from apache_beam.io.gcp.datastore.v1new import datastoreio, types
from google.cloud import datastore

import lazyentity
from lazyentity.beam import ReadFromDatastore
from lazyentity.entity import LazyEntity
from lazyentity.patches.beam.elements import LazyElement
from lazyentity.patches.beam.reads import QueryFn
from lazyentity.patches.beam.seams import CLIENT
from tests.patches.beam.forms import form, stock_element
from tests.patches.beam.test_elements import RICH


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


def test_an_unpickled_dofn_has_patched_the_process() -> None:
    for loads, dumps in ((pickle.loads, pickle.dumps), (pickler.loads, pickler.dumps)):
        lazyentity.unpatch()
        fn = QueryFn()
        fn.remark = "kept"
        made = loads(dumps(fn))
        assert type(made) is QueryFn
        assert vars(made) == vars(fn)
        assert {*lazyentity.patched()} == {"datastore", "beam"}


def test_eager_mode_of_the_process_is_kept() -> None:
    lazyentity.patch("datastore", eager=True)
    copy.deepcopy(QueryFn())
    assert "beam" in lazyentity.patched()
    assert CLIENT.underneath[0].patch.eager


def test_a_disabled_worker_reads_as_beam_does(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    with caplog.at_level(logging.WARNING, "lazyentity"):
        assert type(copy.deepcopy(QueryFn())) is QueryFn
    assert "LAZYENTITY_DISABLE" in caplog.text
    assert lazyentity.patched() == ()


@pytest.mark.parametrize("part", ["reads", "coders"])
def test_a_worker_without_lazyentity(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    from lazyentity.patches.beam.coders import ElementCoder

    pickled = pickler.dumps(QueryFn() if part == "reads" else ElementCoder())
    for name in [name for name in sys.modules if name.partition(".")[0] == "lazyentity"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"pip install 'lazyentity\[beam\]'") as caught:
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
    with pytest.raises(ImportError, match=r"pip install 'lazyentity\[beam\]'"):
        import lazyentity.beam  # noqa: F401
