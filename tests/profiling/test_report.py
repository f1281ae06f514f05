"""The report of a profile: lines of the application, tables and JSON."""

from __future__ import annotations

import inspect
import json
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import lazyentity
from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.report import LINES, Report, share, size
from tests.profiling.receiving import FIVE, Response
from tests.support.strategies.samples import serialise

SCRIPTS = Path(sysconfig.get_paths()["scripts"])
LIBRARY = Path(sysconfig.get_paths()["purelib"], "some_framework", "core.py")


def _line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


def _run(source: str, module: str, file: str, **names: Any) -> None:
    """Run code as if it were in a file."""
    made = {"__name__": module, **names}
    exec(compile(source, file, "exec", dont_inherit=True), made)  # noqa: S102  # code of the test


def _site(report: Report) -> CallSite:
    (decoded,) = report.decoded
    return decoded.site


def test_the_line_that_received_and_the_line_that_decodes(backend: str) -> None:
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        entity.items()
        decoded = _line() - 1
    report = profile.report()
    (received,) = report.received
    # The helper of the tests converts.
    assert received.site.file.endswith("receiving.py")
    function = "test_the_line_that_received_and_the_line_that_decodes"
    assert _site(report) == (__file__, decoded, function)


@pytest.mark.parametrize(
    ("module", "file", "expected"),
    [
        # Of a library and of lazyentity, the line of the application that called it.
        ("some_framework.core", str(LIBRARY), (__file__, "_run")),
        ("lazyentity.entity", "/checkout/entity.py", (__file__, "_run")),
        # The script of a library is not the application: that of a server for one.
        ("__main__", str(SCRIPTS / "some_server"), (__file__, "_run")),
        ("__main__", "<stdin>", ("<stdin>", "<module>")),
    ],
)
def test_whose_line_it_is(backend: str, module: str, file: str, expected: tuple[str, str]) -> None:
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        _run("\n\nentity.items()", module, file, entity=entity)
    site = _site(profile.report())
    assert (site.file, site.function) == expected
    assert site.function == "_run" or site.line == 3


def test_an_installed_application(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its line counts, if there is no other, and not that of a client or of Python."""
    monkeypatch.setattr("lazyentity.profiling.callsites._is_library", lambda _: True)
    with lazyentity.profile() as profile:
        (entity,) = Response(backend, [FIVE]).entities()
        json.dumps(entity)
        line = _line() - 1
    assert _site(profile.report())[:2] == (__file__, line)


def test_json(backend: str) -> None:
    with lazyentity.profile() as profile:
        for entity in Response(backend, [FIVE] * 2).entities():
            entity["a"]
    data = json.loads(profile.json())
    assert data["backend"] == lazyentity.backend
    (kind,) = data["kinds"]
    assert (kind["kind"], kind["entities"], kind["bytes"]) == ("Kind", 2, 2 * len(FIVE))
    assert kind["properties"][0] == {"name": "a", "received": 2, "decoded": 2}
    (decoded,) = data["decoded"]
    assert decoded["site"]["file"] == __file__
    assert (decoded["operation"], decoded["times"]) == ("by name", 2)
    (advice,) = data["advice"]
    assert advice["prefetch"] == ["a"]


def test_table(backend: str) -> None:
    """The heaviest come first, and a table has a number of lines at most."""
    many = serialise({f"name{number:02d}": number for number in range(40)}, kind="Many")
    with lazyentity.profile() as profile:
        Response(backend, [FIVE], eager=True).entities()
        for entity in Response(backend, [FIVE, many]).entities():
            dict(entity)
    lines = profile.table().splitlines()
    assert "3 entities, 45 of 45 properties decoded (100%)." in lines[0]
    assert [line.split() for line in lines[2:6]] == [
        ["Received,", "by", "kind"],
        ["kind", "entities", "bytes", "properties", "decoded"],
        ["Many", "1", *size(len(many)).split(), "40", "100%"],
        ["Kind", "1", "+", "1", "eager", *size(2 * len(FIVE)).split(), "5", "100%"],
    ]
    assert f"  and {45 - LINES} more, in JSON" in lines


def test_numbers() -> None:
    assert [size(count) for count in (1, 2048, 3 << 20, 5 << 30)] == [
        *("1 B", "2.0 KiB", "3.0 MiB", "5.0 GiB")
    ]
    assert (share(1, 4), share(0, 0)) == ("25%", "-")
