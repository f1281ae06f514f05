"""A pipeline on Flink: a job server with an embedded Flink, and a pool of worker processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest
from apache_beam.portability.api import beam_fn_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer

from tests.patches.beam import pipelines
from tests.patches.beam.test_pipelines import TRANSFORMS, Contents, check_results
from tests.support import child_server

_ROOT = Path(__file__).parents[3]

# The libraries of the runner have their own ways.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]


_LIBRARIES = "LAZYENTITY_TEST_FLINK"
"""The environment variable with the folder that ``tools/install flink`` has filled."""

_HOST = "127.0.0.1"
_CONFIGURATION = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "2",
    "restart-strategy.fixed-delay.delay": "100ms",
    "jobmanager.bind-host": _HOST,
    "rest.bind-address": _HOST,
    "taskmanager.bind-host": _HOST,
}


@contextmanager
def _job_server(folder: Path) -> Iterator[str]:
    """Run the server while inside, and give its address.

    Flink restarts a job whose worker died. The server listens on all interfaces, whatever its
    arguments say: tools/loopback-only keeps it from the network.

    Args:
        folder: for the configuration and temporary files.
    """
    configuration = [f"{name}: {value}\n" for name, value in _CONFIGURATION.items()]
    (folder / "flink-conf.yaml").write_text("".join(configuration))

    def command(port: int) -> list[str]:
        return [
            "java",
            # The jobs are too short for more optimisation.
            *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m"),
            "--add-opens=java.base/java.lang=ALL-UNNAMED",
            "--add-opens=java.base/java.util=ALL-UNNAMED",
            f"-Djava.io.tmpdir={folder}",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
            *("-cp", str(Path(os.environ[_LIBRARIES], "*"))),
            "org.apache.beam.runners.flink.FlinkJobServerDriver",
            *(f"--job-host={_HOST}", f"--job-port={port}"),
            *("--artifact-port=0", "--expansion-port=0"),
            *("--flink-master=[local]", f"--flink-conf-dir={folder}", f"--artifacts-dir={folder}"),
        ]

    with child_server.running(command) as port:
        yield f"{_HOST}:{port}"


@contextmanager
def _worker_pool() -> Iterator[str]:
    """Start worker processes when a runner asks, while inside; give the address to ask."""
    pool = BeamFnExternalWorkerPoolServicer(use_process=True)
    server = grpc.server(ThreadPoolExecutor())
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    port = server.add_insecure_port(f"{_HOST}:0")
    server.start()
    try:
        yield f"{_HOST}:{port}"
    finally:
        server.stop(grace=None).wait()
        for process in pool._worker_processes.values():
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def job_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _job_server(tmp_path_factory.mktemp("flink")) as address:
        yield address


@pytest.fixture
def on_flink(job_server: str, stored: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The options of a pipeline whose workers this process starts, with nothing patched."""
    # The command that starts a worker is "python".
    folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    monkeypatch.setenv("PYTHONPATH", str(_ROOT))
    with _worker_pool() as pool:
        yield [
            "--runner=PortableRunner",
            f"--job_endpoint={job_server}",
            "--environment_type=EXTERNAL",
            f"--environment_config={pool}",
            "--parallelism=1",
        ]


def test_flink(on_flink: list[str], tmp_path: Path, contents: Contents) -> None:
    """Beam's results, though a worker is killed in the middle; what they unpickle patches them."""
    lazy, stock = (partial(each, pipelines.query(), num_splits=3) for each in TRANSFORMS)
    check_results(lazy, stock, tmp_path, on_flink, contents, kill=True)


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
