"""A third-party server as a child process, on a free port."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_until_it_answers(
    process: subprocess.Popen[bytes], port: int, answers: Callable[[socket.socket], bool]
) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"{process.args!r} ended with status {process.returncode}")
        with (
            suppress(OSError),
            socket.create_connection(("127.0.0.1", port), timeout=1) as connection,
        ):
            if answers(connection):
                return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} did not answer within {_START_SECONDS} seconds")


def _accepts_connections(_connection: socket.socket) -> bool:
    return True


@contextmanager
def running(
    command: Callable[[int], Sequence[str]],
    answers: Callable[[socket.socket], bool] = _accepts_connections,
) -> Iterator[int]:
    """Run a server while inside, and give its port on 127.0.0.1.

    Args:
        command: returns the command line for a port, the executable first.
        answers: whether the server answers on a connection; by default, accepting it is enough.

    Raises:
        RuntimeError: if the server ends, or does not answer in time.
    """
    port = _free_port()
    process = subprocess.Popen(command(port), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        _wait_until_it_answers(process, port, answers)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
