"""Pipelines on runners whose workers are processes of their own: Prism, and that for Dask."""

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
from google.cloud import datastore

from lazyentity.beam import ReadFromDatastore
from tests.patches.beam import pipelines
from tests.patches.beam.forms import client_form
from tests.patches.beam.test_pipelines import Contents, expected_results

_PRISM = "LAZYENTITY_TEST_PRISM"
_ROOT = Path(__file__).parents[3]

# The libraries of these runners have their own ways.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def prism(stored: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
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


def _marked(entities: dict[Any, datastore.Entity]) -> list[int]:
    """Return the numbers of the entities that the pipeline marked when it wrote them."""
    return sorted(each["number"] for each in entities.values() if each.get("marked"))


_MARKED = [number for number in range(pipelines.COUNT) if number % 3 and number % 2]


def test_prism(prism: list[str], tmp_path: Path, contents: Contents) -> None:
    """Beam's results; the workers are patched by what they unpickle."""
    before = contents()
    results = pipelines.run(_lazy(), tmp_path, prism)
    lazily = contents()
    assert results == pipelines.run(_stock(), tmp_path, prism) == expected_results()
    stock = contents()
    assert {key: client_form(entity) for key, entity in lazily.items()} == {
        key: client_form(entity) for key, entity in stock.items()
    }
    assert _marked(lazily) == _MARKED
    for key, entity in before.items():
        assert lazily[key]._meanings.keys() == entity._meanings.keys()


def test_a_worker_of_prism_is_killed(prism: list[str], tmp_path: Path, contents: Contents) -> None:
    """The job fails, as Prism retries nothing; run again, it has the same results."""
    with pytest.raises(RuntimeError):
        pipelines.run(_lazy(), tmp_path, prism, kill=True)
    assert (tmp_path / "killed").exists()
    assert pipelines.run(_lazy(), tmp_path, prism, kill=True) == expected_results()
    assert _marked(contents()) == _MARKED


def test_a_worker_of_dask_is_killed(
    stored: datastore.Client,
    tmp_path: Path,
    contents: Contents,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pipeline finishes, with the same results."""
    distributed = pytest.importorskip("distributed")
    runner = pytest.importorskip("apache_beam.runners.dask.dask_runner").DaskRunner
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    workers = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with distributed.LocalCluster(**workers, dashboard_address="127.0.0.1:0") as cluster:
        options = [f"--dask_client_address={cluster.scheduler_address}"]
        results = pipelines.run(_lazy(), tmp_path, options, runner=runner(), kill=True)
        # Beam's runner leaves its client open, which would look for the cluster.
        distributed.default_client().close()
    assert results == expected_results()
    lazily = contents()
    assert len(lazily) == pipelines.COUNT
    assert _marked(lazily) == _MARKED
