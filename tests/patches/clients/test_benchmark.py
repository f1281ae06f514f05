"""Every client's benchmark, on small input: its lines are timed, and each seam removed in turn."""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import lazyentity
from lazyentity.bench.harness import verify
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.measure import ablation, page_tables
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import readme
from tests.conftest import INSTALLED
from tests.support.benchmarks import ONCE

pytestmark = pytest.mark.usefixtures("only_new_objects", "kept_servers")

ON_ANY_BACKEND = ("beam", "firestore", "gcloud-aio")

Line = tuple[Callable[..., Any], dict[str, Any]]
"""Measures a line; and attributes that the line has."""


def _ndb() -> Iterator[Line]:
    from lazyentity.bench.subjects import end_to_end_models, models

    for kind, read in itertools.product(models.CLASSES, models.READS):
        expected = {"mix": kind, "properties": 10, "read": read}
        yield lambda case=(kind, 10, read): models.measure(models.case(*case), ONCE), expected
    for call, read in itertools.product(end_to_end_models.CALLS, end_to_end_models.READS):
        expected = {"call": call, "entities": 7, "properties": 12, "read": read}
        yield partial(end_to_end_models.measure, call, 7, 12, read, ONCE), expected


def _appengine() -> Iterator[Line]:
    from lazyentity.bench.subjects import appengine

    for calls in (appengine.CALLS, appengine.NDB_CALLS, appengine.DB_CALLS):
        for make in appengine.select(calls):
            case = make()
            expected = {"mix": case.call.name, "properties": 100, "read": case.read}
            yield partial(appengine.measure, case, ONCE), expected


def _beam() -> Iterator[Line]:
    from lazyentity.bench.measure import beam

    for case in (beam.READ, beam.CODER):
        yield partial(beam.measure, case, 5, 6, ONCE), {"case": case}


def _firestore() -> Iterator[Line]:
    from lazyentity.bench.measure import firestore

    for call in dict.fromkeys(call for call, _, _ in (*firestore.CASES, *firestore.WRITES)):
        expected = {"call": call, "mix": "mixed", "fields": 6}
        if call in (firestore.CONVERSION, firestore.PREPARATION):
            expected["floor"] = None
        yield partial(firestore.measure, call, "mixed", 6, budget=ONCE), expected


def _param(client: str, *values: Any, name: str = "") -> Any:
    marks = [pytest.mark.any_backend] if client in ON_ANY_BACKEND else []
    return pytest.param(client, *values, id="-".join(filter(None, (client, name))), marks=marks)


LINES = [
    _param(client, measure, expected, name="-".join(map(str, expected.values())))
    for client, lines in {
        "ndb": _ndb,
        "appengine": _appengine,
        "beam": _beam,
        "firestore": _firestore,
    }.items()
    if client in INSTALLED
    for measure, expected in lines()
]


@pytest.fixture(scope="module")
def stored_documents() -> Iterator[dict[str, int]]:
    """The port of the server of the documents that are measured, by the name of the argument."""
    from lazyentity.bench.measure import documents

    with documents.running() as port:
        yield {"port": port}


def _servers(subject: str, request: pytest.FixtureRequest) -> dict[str, int]:
    if subject != "firestore":
        return {}
    servers: dict[str, int] = request.getfixturevalue("stored_documents")
    return servers


@pytest.mark.parametrize(("subject", "measure", "expected"), LINES)
def test_each_line_is_timed(
    subject: str,
    measure: Callable[..., Any],
    expected: dict[str, Any],
    request: pytest.FixtureRequest,
) -> None:
    """On each side; afterwards everything is as it was."""
    stubs: Any = sys.modules.get("google.appengine.api.apiproxy_stub_map")
    service = stubs and stubs.apiproxy
    line = measure(**_servers(subject, request))
    assert {name: getattr(line, name) for name in expected} == expected
    timed = {name: made for name, made in vars(line).items() if isinstance(made, Summary)}
    assert timed.keys() >= {"stock", "lazy", "ratio"}
    if subject == "firestore":
        assert ("floor" in timed) != ("floor" in expected)
    assert min(each.median for each in timed.values()) > 0
    assert not lazyentity.patched()
    assert (stubs and stubs.apiproxy) is service


CALLS = {"appengine": -1, "beam": 1}
"""Which of its calls is measured; else the first."""

SEAMS = {
    "beam": {
        "datastoreio.ReadFromDatastore._QueryFn",
        "typecoders.CoderRegistry.get_coder",
        "types.Entity.from_client_entity",
    },
    "gcloud-aio": {"datastore.Datastore._post", "entity.Entity.__init__"},
}
"""The seams of the clients that have few."""


@pytest.mark.parametrize(
    "subject", [_param(client) for client in ablation.SUBJECTS if client in INSTALLED]
)
def test_each_seam_is_removed_in_turn(subject: str) -> None:
    """The others stay in place, and the table has a row for each."""
    measured = ablation.SUBJECTS[subject]()
    rows = measured.without()
    assert rows.keys() == SEAMS.get(subject, rows.keys())
    installed = {seam for patch in measured.patches for seam in patch.seams}
    for removed in rows.values():
        with ablation.patched_without(measured.patches, removed):
            assert {seam for seam in installed if not seam.is_installed()} == {*removed}
    line = ablation.measure(measured, measured.calls[CALLS.get(subject, 0)], 10, ONCE)
    assert line.gains.keys() == rows.keys()
    *_, table = page_tables.tables(PageResults.of([line]))
    assert all(f"``{name}``" in readme.rendered(table) for name in rows)
    assert not lazyentity.patched()


def _of_appengine(_: pytest.MonkeyPatch) -> Callable[..., Any]:
    from lazyentity.bench.subjects import appengine
    from lazyentity.patches.appengine.seams import CLIENT

    case = appengine.select(appengine.CALLS)[0]()

    def prepare(canned: Any) -> Callable[[], list[Any]]:
        read = case.call.prepare(canned)

        def other() -> list[Any]:
            found = read()
            if CLIENT.patch.active:
                found[0]["text_000"] = "another"
            return found

        return other

    call = dataclasses.replace(case.call, prepare=prepare)
    return partial(appengine.measure, dataclasses.replace(case, call=call), ONCE)


def _of_beam(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    from lazyentity.bench.measure import beam

    monkeypatch.setattr(beam, "_coding", lambda *_: lambda *_: [object()])
    return partial(beam.measure, beam.CODER, 2, 6, ONCE)


def _of_firestore(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    from lazyentity.bench.measure import firestore

    monkeypatch.setitem(firestore._READS, firestore.STREAM, lambda _: object())
    return partial(firestore.measure, firestore.STREAM, "mixed", 5, budget=ONCE)


def _of_gcloud_aio(_: pytest.MonkeyPatch) -> Callable[..., Any]:
    from lazyentity.bench.measure import rest

    def check() -> None:
        with rest.loaded(5, 6) as call:
            stock, lazy = call.run("stock"), call.run("lazy")
            call.check(stock, lazy)
            with pytest.raises(verify.OutputMismatch, match="entities"):
                call.check(stock[1:], lazy[1:])
        call.check(stock, lazy[1:])

    return check


DIFFERING = {
    "appengine": (_of_appengine, "another"),
    "beam": (_of_beam, None),
    "firestore": (_of_firestore, None),
    "gcloud-aio": (_of_gcloud_aio, None),
}
"""Measurements whose sides differ, and the text of the error."""


@pytest.mark.parametrize(
    ("subject", "make", "text"),
    [_param(client, *each) for client, each in DIFFERING.items() if client in INSTALLED],
)
def test_results_that_differ_are_found(
    subject: str,
    make: Callable[[pytest.MonkeyPatch], Callable[..., Any]],
    text: str | None,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measure = make(monkeypatch)
    with pytest.raises(verify.OutputMismatch, match=text):
        measure(**_servers(subject, request))
    assert not lazyentity.patched()
