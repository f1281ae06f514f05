"""The comparison with other ways to read less, on small input."""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import Any

import pytest
from docutils.core import publish_doctree
from docutils.nodes import row
from google.cloud.datastore import helpers

import lazyentity
from lazyentity.bench.harness import results, verify
from lazyentity.bench.measure import alternatives, example, losses, page_results, page_tables
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import terminal
from lazyentity.bench.report.readme import render
from tests.support.benchmarks import ONCE
from tools import tables as generated

pytestmark = pytest.mark.any_backend

WAYS = {
    alternatives.DATASTORE: [
        alternatives.STOCK,
        alternatives.PROJECTION,
        alternatives.CACHE,
        alternatives.DELETING,
        alternatives.PROXIES,
        alternatives.LAZY,
    ],
    alternatives.AIO: [alternatives.STOCK, alternatives.CUSTOM_VALUE, alternatives.LAZY],
    alternatives.BSON: [alternatives.STOCK, alternatives.RAW_BSON],
    alternatives.SPANNER: [
        alternatives.ROWS,
        alternatives.LAZY_ROWS,
        alternatives.STOCK,
        alternatives.LAZY,
    ],
}
LIBRARIES = {
    alternatives.AIO: "gcloud.aio.datastore",
    alternatives.BSON: "bson",
    alternatives.SPANNER: "google.cloud.spanner_v1",
}
BESIDE = {alternatives.SPANNER: [alternatives.SPANNER] * 2 + [alternatives.DATASTORE] * 2}
"""The libraries whose lines have others beside them, and the libraries of these lines."""


def measured() -> PageResults:
    return page_results.load(generated.RESULTS / "alternatives.json")


@pytest.mark.parametrize("library", WAYS)
def test_every_way_is_timed(library: str) -> None:
    """All ways of a library read the same, the last is what the others are compared with."""
    if library in LIBRARIES:
        pytest.importorskip(LIBRARIES[library])
    conversion = helpers.entity_from_protobuf
    *others, last = alternatives.MEASURED[library](3, 8, ONCE)
    assert [line.way for line in (*others, last)] == WAYS[library]
    expected = BESIDE.get(library, [library] * len(WAYS[library]))
    assert [line.library for line in (*others, last)] == expected
    assert last.ratio is None
    for line in others:
        assert line.ratio is not None
        assert line.ratio.median == pytest.approx(line.cpu.median / last.cpu.median)
    assert helpers.entity_from_protobuf is conversion
    assert not lazyentity.patched()


def test_a_way_that_reads_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong(alternatives.MessageProxy):
        def __getitem__(self, name: str) -> Any:
            return None

    monkeypatch.setattr(alternatives, "MessageProxy", Wrong)
    with pytest.raises(verify.OutputMismatch, match=re.escape(alternatives.PROXIES)):
        alternatives.of_datastore(2, 8, ONCE)


def test_committed_results_have_every_way() -> None:
    """The page has a line for each, and a name of each in its own words."""
    made = measured().alternatives
    assert made is not None
    found: dict[str, list[str]] = {}
    for line in (*made.lines, *made.documents):
        found.setdefault(line.library, []).append(line.way)
    found[alternatives.SPANNER] = [line.way for line in made.rows]
    assert found == WAYS
    assert [line.library for line in made.rows] == BESIDE[alternatives.SPANNER]
    assert (made.entities, made.properties, made.read) == (
        alternatives.ENTITIES,
        alternatives.PROPERTIES,
        alternatives.READ,
    )
    tree = publish_doctree(render(measured(), compact=True, tables_of=page_tables.tables))
    assert len(list(tree.findall(row))) == 3 + sum(map(len, WAYS.values()))


def test_documents_and_rows_of_others_are_no_losses() -> None:
    """A raw document that is slower than a dict is no loss of lazyentity, nor is a row."""
    cases = [gain.case for gain in losses.gains(measured())]
    assert len(cases) == len(WAYS[alternatives.DATASTORE]) + len(WAYS[alternatives.AIO]) - 2
    of_others = alternatives.BSON, alternatives.SPANNER
    assert not [case for case in cases if case.startswith(of_others)]


def test_rows_have_the_values_of_the_entities() -> None:
    """All columns are decoded as the client decodes them, bytes in their encoding."""
    spanner = pytest.importorskip("google.cloud.spanner_v1")
    entities = [alternatives.MIX.entity(12, number) for number in range(3)]
    raw = alternatives.result_set(entities)
    names = list(entities[0])
    for is_lazy in (False, True):
        rows = alternatives.reading_rows(raw, names, is_lazy=is_lazy)()
        assert rows == [
            [
                base64.b64encode(value) if type(value) is bytes else value
                for value in entity.values()
            ]
            for entity in entities
        ]
    fields = spanner.types.PartialResultSet.deserialize(raw).metadata.row_type.fields
    codes = [spanner.types.TypeCode(field.type_.code).name for field in fields[:6]]
    assert codes == ["STRING", "INT64", "FLOAT64", "BOOL", "TIMESTAMP", "BYTES"]


def test_the_page_names_its_sources() -> None:
    """Each of the other ways has a link to where it is from."""
    text = (generated.CHECKOUT / "docs" / "start" / "alternatives.rst").read_text("utf-8")
    for source in (
        "github.com/googleapis/python-datastore/issues/654",
        "github.com/talkiq/gcloud-aio/issues/546",
        "mattfaus.com/2014/12/04/",
        "evanjones.ca/app-engine-db-serialization.html",
        "pymongo.readthedocs.io/en/stable/api/bson/raw_bson.html",
        "lazy_decode",
    ):
        assert source in text


def test_the_example_is_of_orders_that_have_what_it_reads() -> None:
    order = example.order(10, 4)
    assert len(order) == 10
    read = example.ARGUMENTS[example.ARGUMENTS.index("--read") + 1].split(",")
    assert set(read) < set(order)
    made = results.load(generated.RESULTS / "own.json")
    assert {line.properties for line in made.conversion} == {example.PROPERTIES}
    assert made.own_call is not None
    assert f"--rate {made.own_call.rate:g}" in " ".join(example.ARGUMENTS)
    with pytest.raises(ValueError, match="--kind"):
        terminal.example(dataclasses.replace(made, own_call=None), "command")
