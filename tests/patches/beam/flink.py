"""Beam's runner for Flink: a job server with an embedded Flink, and a pool of worker processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
from apache_beam.portability.api import beam_fn_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer

from tests.support import child_server

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
def job_server(folder: Path) -> Iterator[str]:
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
def worker_pool() -> Iterator[str]:
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
