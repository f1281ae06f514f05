from __future__ import annotations

import dataclasses
import sys
import types
from importlib import metadata
from pathlib import Path

import msgspec
import pytest

from lazyentity.bench.harness import environment, files, results
from lazyentity.bench.harness.files import ResultsError
from lazyentity.bench.harness.results import SCHEMA
from lazyentity.patches.clients import CLIENTS

from .made import make_results

pytestmark = pytest.mark.any_backend


def test_round_trip(tmp_path: Path) -> None:
    """Written results are read back equal."""
    made = make_results()
    path = tmp_path / "results.json"
    path.write_text(files.dump(made), encoding="utf-8")
    assert results.load(path) == made


def test_committed_before_writes_were_measured(tmp_path: Path) -> None:
    """A file without the sections of the writes is read as one that measured none."""
    made = make_results()
    sections = msgspec.json.decode(files.dump(made))
    del sections["read_modify_write"], sections["puts"]
    path = tmp_path / "results.json"
    path.write_bytes(msgspec.json.encode(sections))
    assert results.load(path) == dataclasses.replace(made, read_modify_write=[], puts=[])


def test_says_where_it_was_measured() -> None:
    """A results file carries versions, processor and backend."""
    text = files.dump(make_results())
    for expected in ("google-cloud-datastore", "protobuf", '"cpu"', '"backend":"pure"', '"rounds"'):
        assert expected in text


def test_other_schema_is_refused(tmp_path: Path) -> None:
    """A file of another schema is an error that says so, not figures under wrong names."""
    path = tmp_path / "results.json"
    text = files.dump(make_results()).replace(f'"schema":{SCHEMA}', f'"schema":{SCHEMA + 1}')
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=f"schema {SCHEMA}"):
        results.load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 2}', "\x00"])
def test_no_results_file(text: str, tmp_path: Path) -> None:
    """Anything else in a file is an error that names the file."""
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ResultsError, match=r"other\.json"):
        results.load(path)


def test_missing_results_file(tmp_path: Path) -> None:
    """A missing file is an error that names it."""
    with pytest.raises(ResultsError, match=r"cannot read .*none\.json"):
        results.load(tmp_path / "none.json")


@pytest.mark.parametrize("where", ["missing/results.json", "."])
def test_unwritable_is_found_at_once(where: str, tmp_path: Path) -> None:
    """A file that cannot be written is an error before the block runs."""
    with pytest.raises(ResultsError, match="cannot write"), files.writable(tmp_path / where):
        pytest.fail("the block ran")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    """Where the folder of the file does not exist the error says so, and makes none."""
    folder = tmp_path / "none"
    with (
        pytest.raises(ResultsError, match=f"there is no folder {folder}"),
        files.writable(folder / "results.json"),
    ):
        pytest.fail("the block ran")
    assert not folder.exists()


def test_contents_are_replaced_whole(tmp_path: Path) -> None:
    """A shorter text leaves nothing of the longer one before it."""
    path = tmp_path / "results.json"
    path.write_text("x" * 1000, encoding="utf-8")
    with files.writable(path):
        files.write(path, "short")
    assert path.read_text(encoding="utf-8") == "short"


def test_a_failed_run_leaves_the_old_results(tmp_path: Path) -> None:
    """An existing results file survives a run that fails."""
    path = tmp_path / "results.json"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(RuntimeError), files.writable(path):
        raise RuntimeError
    assert path.read_text(encoding="utf-8") == "old"


def test_a_failed_run_leaves_no_new_file(tmp_path: Path) -> None:
    """A run that fails leaves no empty results file behind."""
    path = tmp_path / "results.json"
    with pytest.raises(RuntimeError), files.writable(path):
        raise RuntimeError
    assert not path.exists()


def test_a_file_that_can_no_longer_be_written(tmp_path: Path) -> None:
    """Where the file cannot be written after all, the error names it."""
    path = tmp_path / "results.json"
    with files.writable(path):
        path.unlink()
        path.mkdir()
        with pytest.raises(ResultsError, match=r"cannot write .*results\.json"):
            files.write(path, "text")


@pytest.mark.parametrize("name", CLIENTS)
def test_an_imported_client_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is the client that is required; each other one, only if it is imported."""
    client = CLIENTS[name]
    for other in CLIENTS.values():
        monkeypatch.delitem(sys.modules, other.waits_for_import, raising=False)
    monkeypatch.setitem(sys.modules, client.waits_for_import, types.ModuleType("imported"))
    monkeypatch.setattr(metadata, "version", "version of {}".format)
    versions = environment.describe("pure").versions
    known = {each.distribution for each in CLIENTS.values()}
    required = CLIENTS["datastore"].distribution
    assert known & versions.keys() == {required, client.distribution}
    assert versions[client.distribution] == f"version of {client.distribution}"
