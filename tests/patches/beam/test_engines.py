"""A pipeline on Flink, whose workers are processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apache_beam.io.gcp.datastore.v1new import datastoreio

from lazyentity.beam import ReadFromDatastore
from tests.patches.beam import flink, pipelines
from tests.patches.beam.forms import client_form
from tests.patches.beam.test_pipelines import Contents, expected_results

_ROOT = Path(__file__).parents[3]

# The libraries of the runner have their own ways.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def job_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with flink.job_server(tmp_path_factory.mktemp("flink")) as address:
        yield address


@pytest.fixture
def on_flink(job_server: str, stored: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The options of a pipeline whose workers this process starts, with nothing patched."""
    # The command that starts a worker is "python".
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    with flink.worker_pool() as pool:
        yield [
            "--runner=PortableRunner",
            f"--job_endpoint={job_server}",
            "--environment_type=EXTERNAL",
            f"--environment_config={pool}",
            "--parallelism=1",
        ]


def _stock() -> Any:
    return datastoreio.ReadFromDatastore(pipelines.query(), num_splits=3)


def _lazy() -> Any:
    return ReadFromDatastore(pipelines.query(), num_splits=3)


_MARKED = [number for number in range(pipelines.COUNT) if number % 3 and number % 2]


def test_flink(on_flink: list[str], tmp_path: Path, contents: Contents) -> None:
    """Beam's results, though a worker is killed in the middle; what they unpickle patches them."""
    before = contents()
    results = pipelines.run(_lazy(), tmp_path, on_flink, kill=True)
    lazily = contents()
    assert results == pipelines.run(_stock(), tmp_path, on_flink) == expected_results()
    stock = contents()
    assert {key: client_form(entity) for key, entity in lazily.items()} == {
        key: client_form(entity) for key, entity in stock.items()
    }
    assert sorted(each["number"] for each in lazily.values() if each.get("marked")) == _MARKED
    for key, entity in before.items():
        assert lazily[key]._meanings.keys() == entity._meanings.keys()


def test_example(job_server: str) -> None:
    """The command of the documentation, whose workers Beam starts in this environment."""
    program = subprocess.run(
        [
            *(sys.executable, "docs/examples/beam_count.py", "--demo", "--runner=PortableRunner"),
            *(f"--job_endpoint={job_server}", "--environment_type=LOOPBACK"),
        ],
        cwd=_ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    assert sorted(program.stdout.split("\n")) == ["", "open: 250", "paid: 250", "sent: 500"]
