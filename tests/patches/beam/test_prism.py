"""Pipelines on Prism, Beam's portable runner, whose workers are processes of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from apache_beam.io.gcp.datastore.v1new import datastoreio
from apache_beam.portability.api import beam_fn_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer

from lazyentity.beam import ReadFromDatastore
from tests.patches.beam import pipelines
from tests.patches.beam.forms import client_form
from tests.patches.beam.test_pipelines import Contents, expected_results

_PRISM = "LAZYENTITY_TEST_PRISM"
_ROOT = Path(__file__).parents[3]

pytestmark = [pytest.mark.prism, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def options(stored: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The options of a pipeline whose workers this process starts, with nothing patched."""
    # The command that starts a worker is "python".
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    pool = BeamFnExternalWorkerPoolServicer(use_process=True)
    server = grpc.server(ThreadPoolExecutor())
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield [
        "--runner=PrismRunner",
        f"--prism_location={os.environ[_PRISM]}",
        "--environment_type=EXTERNAL",
        f"--environment_config=127.0.0.1:{port}",
    ]
    server.stop(grace=None).wait()
    for process in pool._worker_processes.values():
        process.kill()
        process.communicate()


def _stock() -> Any:
    return datastoreio.ReadFromDatastore(pipelines.query(), num_splits=3)


def _lazy() -> Any:
    return ReadFromDatastore(pipelines.query(), num_splits=3)


def test_read_filter_group_count_write(
    options: list[str], tmp_path: Path, contents: Contents
) -> None:
    """Beam's results; the workers are patched by what they unpickle."""
    before = contents()
    results = pipelines.run(_lazy(), tmp_path, options)
    lazily = contents()
    assert results == pipelines.run(_stock(), tmp_path, options) == expected_results()
    stock = contents()
    assert {key: client_form(entity) for key, entity in lazily.items()} == {
        key: client_form(entity) for key, entity in stock.items()
    }
    for key, entity in before.items():
        assert lazily[key]._meanings.keys() == entity._meanings.keys()


def test_a_worker_is_killed(options: list[str], tmp_path: Path, contents: Contents) -> None:
    """The run fails, as Prism retries nothing; the next one has the same results."""
    with pytest.raises(RuntimeError):
        pipelines.run(_lazy(), tmp_path, options, kill=True)
    assert (tmp_path / "killed").exists()
    assert pipelines.run(_lazy(), tmp_path, options, kill=True) == expected_results()
    lazily = contents()
    assert len(lazily) == pipelines.COUNT
    assert sum("marked" in entity for entity in lazily.values()) == sum(
        number % 3 > 0 and number % 2 for number in range(pipelines.COUNT)
    )
