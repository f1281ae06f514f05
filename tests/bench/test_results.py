"""Results files: what they hold, and errors of reading and writing them."""

from __future__ import annotations

import dataclasses
import sys
import types
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from lazyentity.bench.harness import results
from lazyentity.bench.harness.results import SCHEMA, ResultsError
from lazyentity.patches.clients import CLIENTS

from .made import make_results

pytestmark = pytest.mark.any_backend


def test_round_trip(tmp_path: Path) -> None:
    """Written results are read back equal, and say where they were measured.

    A file without the sections of the writes is read as one that measured none.
    """
    made = make_results()
    path = tmp_path / "results.json"
    text = results.dump(made)
    path.write_text(text, encoding="utf-8")
    assert results.load(path) == made
    for expected in ("google-cloud-datastore", "protobuf", '"cpu"', '"backend":"pure"', '"rounds"'):
        assert expected in text
    sections = msgspec.json.decode(text)
    del sections["read_modify_write"], sections["puts"]
    path.write_bytes(msgspec.json.encode(sections))
    assert results.load(path) == dataclasses.replace(made, read_modify_write=[], puts=[])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            results.dump(make_results()).replace(f'"schema":{SCHEMA}', f'"schema":{SCHEMA + 1}'),
            f"schema {SCHEMA}",
            id="another schema",
        ),
        *((text, r"other\.json") for text in ("", "{", "[]", '{"schema": 2}', "\x00")),
        pytest.param(None, r"cannot read .*other\.json", id="missing"),
    ],
)
def test_no_results_file(text: str | None, message: str, tmp_path: Path) -> None:
    """Anything else is an error that names the file, not figures under wrong names."""
    path = tmp_path / "other.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=message):
        results.load(path)


@pytest.mark.parametrize(
    ("where", "message"),
    [("missing/results.json", "there is no folder .*/missing"), (".", "cannot write")],
)
def test_unwritable_is_found_at_once(where: str, message: str, tmp_path: Path) -> None:
    """A file that cannot be written is an error before the block runs; no folder is made."""
    with pytest.raises(ResultsError, match=message), results.writable(tmp_path / where):
        pytest.fail("the block ran")
    assert not list(tmp_path.iterdir())


def test_contents_are_replaced_whole(tmp_path: Path) -> None:
    """A shorter text leaves nothing of the longer one before it."""
    path = tmp_path / "results.json"
    path.write_text("x" * 1000, encoding="utf-8")
    with results.writable(path):
        results.write(path, "short")
    assert path.read_text(encoding="utf-8") == "short"


def test_a_failed_run_leaves_the_old_results(tmp_path: Path) -> None:
    """An existing results file survives a run that fails; a new one is not left behind, empty."""
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text("old", encoding="utf-8")
    for path in (old, new):
        with pytest.raises(RuntimeError), results.writable(path):
            raise RuntimeError
    assert old.read_text(encoding="utf-8") == "old"
    assert not new.exists()


def test_a_file_that_can_no_longer_be_written(tmp_path: Path) -> None:
    """Where the file cannot be written after all, the error names it."""
    path = tmp_path / "results.json"
    with results.writable(path):
        path.unlink()
        path.mkdir()
        with pytest.raises(ResultsError, match=r"cannot write .*results\.json"):
            results.write(path, "text")


@pytest.mark.parametrize("name", CLIENTS)
def test_an_imported_client_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is the client that is required; each other one, only if it is imported."""
    client = CLIENTS[name]
    for other in CLIENTS.values():
        monkeypatch.delitem(sys.modules, other.waits_for_import, raising=False)
    monkeypatch.setitem(sys.modules, client.waits_for_import, types.ModuleType("imported"))
    monkeypatch.setattr(metadata, "version", "version of {}".format)
    versions = results.describe("pure").versions
    known = {each.distribution for each in CLIENTS.values()}
    required = CLIENTS["datastore"].distribution
    assert known & versions.keys() == {required, client.distribution}
    assert versions[client.distribution] == f"version of {client.distribution}"
