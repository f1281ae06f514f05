"""Whole pipelines on Beam's own runner: stock's results, whichever transform reads."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.io.gcp.datastore.v1new import datastoreio, helper, types
from apache_beam.testing.util import assert_that, equal_to
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.beam import ReadFromDatastore
from lazyentity.patches.beam.elements import LazyElement
from lazyentity.patches.beam.reads import QueryFn
from lazyentity.patches.clients import ClientName
from tests.patches.beam import pipelines
from tests.patches.beam.forms import client_form
from tests.support.clients import PROJECT

pytestmark = pytest.mark.filterwarnings(pipelines.BY_POSITION)

Contents = Callable[[], dict[Any, datastore.Entity]]

_EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "beam_count.py"
_DIRECT = ["--runner=DirectRunner"]


def _read(name: str, query: Any = None) -> Any:
    if name == "patch":
        lazyentity.patch("beam", strict=True)
    transform = ReadFromDatastore if name == "transform" else datastoreio.ReadFromDatastore
    return transform(query or pipelines.query(), num_splits=3)


TRANSFORMS: tuple[Any, Any] = ReadFromDatastore, datastoreio.ReadFromDatastore


def check_results(
    read: Callable[[], Any],
    read_stock: Callable[[], Any],
    folder: Path,
    options: list[str],
    contents: Contents,
    *,
    kill: bool = False,
) -> set[ClientName]:
    """Check that the pipeline has Beam's results, and stores what it stores with Beam's elements.

    Entities that were written lazily are read and written again. Meanings, which Beam drops, stay.

    Args:
        read: makes the lazy transform.
        read_stock: makes Beam's.
        folder: for files.
        options: of the pipelines.
        contents: the fixture.
        kill: whether a worker is killed in the middle.

    Returns:
        The clients that are patched in this process after the lazy pipeline.
    """
    before = contents()
    results = pipelines.run(read(), folder, options, kill=kill)
    patched = {*lazyentity.patched()}
    lazily = contents()
    chosen = [number for number in range(pipelines.COUNT) if number % 3]
    by_parity = {"even": [n for n in chosen if n % 2 == 0], "odd": [n for n in chosen if n % 2]}
    expected = [[parity, len(numbers), sum(numbers)] for parity, numbers in by_parity.items()]
    assert results == pipelines.run(read_stock(), folder, options) == expected
    stock = contents()
    assert {key: client_form(entity) for key, entity in lazily.items()} == {
        key: client_form(entity) for key, entity in stock.items()
    }
    for key, entity in before.items():
        assert lazily[key]._meanings.keys() == entity._meanings.keys()
        assert ("marked" in lazily[key]) is bool(entity["number"] % 3 and entity["number"] % 2)
    return patched


@pytest.mark.parametrize("name", ["transform", "patch"])
def test_read_filter_group_count_write(name: str, tmp_path: Path, contents: Contents) -> None:
    reads = partial(_read, name), partial(_read, "stock")
    assert check_results(*reads, tmp_path, _DIRECT, contents) == {"beam", "datastore"}


class _Kind(beam.DoFn):  # type: ignore[misc]  # announces no types
    def process(self, element: Any, others: Any) -> Iterator[Any]:
        assert all(isinstance(each, types.Entity) for each in others)
        yield type(element).__name__, element.properties["number"], len(list(others))


@pytest.mark.parametrize("name", ["transform", "patch"])
@pytest.mark.usefixtures("stored")
def test_elements_stay_lazy_between_stages(name: str) -> None:
    """After a shuffle, out of untyped collections, and as side inputs."""
    with beam.Pipeline(argv=_DIRECT) as pipeline:
        read = pipeline | _read(name)
        assert issubclass(read.element_type, types.Entity)
        shuffled = read | beam.Reshuffle()
        tuples = read | beam.Map(lambda element: (element, 1))
        untyped = tuples | "Shuffle tuples" >> beam.Reshuffle() | beam.Keys()
        others = beam.pvalue.AsList(shuffled)
        kinds = (shuffled, untyped) | beam.Flatten() | beam.ParDo(_Kind(), others)
        expected = [("LazyElement", n, pipelines.COUNT) for n in range(pipelines.COUNT)] * 2
        assert_that(kinds, equal_to(expected))


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.usefixtures("stored")
def test_types_are_checked_at_run_time(eager: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that are told to be eager make elements of Beam's class."""
    if eager:
        monkeypatch.setenv("LAZYENTITY_EAGER", "1")
    with beam.Pipeline(argv=[*_DIRECT, "--runtime_type_check"]) as pipeline:
        read = pipeline | _read("transform") | beam.Reshuffle()
        kinds = read | beam.Map(lambda element: type(element).__name__) | beam.Distinct()
        assert_that(kinds, equal_to(["Entity" if eager else "LazyElement"]))


@pytest.mark.usefixtures("stored")
def test_runs_the_code_of_beams_dofn() -> None:
    """And so retries, metrics and errors are Beam's."""
    stock = datastoreio.ReadFromDatastore._QueryFn
    assert QueryFn.process is stock.process
    assert QueryFn.__mro__[1] is stock
    lazyentity.patch("beam", "datastore")
    query = types.Query(pipelines.KIND, PROJECT, order=["-number"], limit=4)
    elements = list(QueryFn().process(query))
    assert [element.properties["number"] for element in elements] == [59, 58, 57, 56]
    assert {*map(type, elements)} == {LazyElement}


@pytest.mark.filterwarnings(f"error{pipelines.BY_POSITION.removeprefix('ignore')}")
def test_example(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The one command of the documentation, which warns of nothing."""
    helper.get_client.cache_clear()
    monkeypatch.setenv(GCD_HOST, "")
    monkeypatch.setattr("sys.argv", [str(_EXAMPLE), "--demo"])
    runpy.run_path(str(_EXAMPLE), run_name="__main__")
    assert sorted(capsys.readouterr().out.splitlines()) == ["open: 250", "paid: 250", "sent: 500"]
    helper.get_client.cache_clear()
