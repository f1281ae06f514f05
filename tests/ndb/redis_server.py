"""A real Redis server as a child process."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"redis-server ended with status {process.returncode}")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1) as attempt:
                attempt.sendall(b"PING\r\n")
                if attempt.recv(16).startswith(b"+PONG"):
                    return
        except OSError:
            pass
        time.sleep(0.05)
    raise RuntimeError(f"redis-server did not answer within {_START_SECONDS} seconds")


@contextmanager
def running_redis(folder: Path) -> Iterator[int]:
    """Run a Redis server that keeps everything in memory, and give its port on 127.0.0.1.

    Args:
        folder: where it runs; it writes nothing.

    Raises:
        RuntimeError: if redis-server is not installed, or if it does not start.
    """
    binary = shutil.which("redis-server")
    if binary is None:
        raise RuntimeError(
            "the tests marked 'redis' were asked for, but there is no redis-server: install it "
            "(Debian, Ubuntu: apt-get install redis-server), or run `make test-redis`, which does"
        )
    port = _free_port()
    options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(
        [binary, *options, "--dir", str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_until_it_answers(process, port)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
