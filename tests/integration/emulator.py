"""A real Datastore emulator as a child process."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

BINARY: Final = "LAZYENTITY_TEST_EMULATOR"
"""The environment variable that names the emulator's executable."""

_START_SECONDS = 30.0
_STOP_SECONDS = 10.0


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _wait_until_it_listens(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the emulator ended with status {process.returncode}")
        with socket.socket() as attempt:
            attempt.settimeout(1)
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"the emulator did not listen within {_START_SECONDS} seconds")


@contextmanager
def running_emulator() -> Iterator[int]:
    """Run the emulator that the environment names, and give the port of both its transports.

    Raises:
        RuntimeError: if the environment names none, or if it does not start.
    """
    binary = os.environ.get(BINARY)
    if not binary:
        raise RuntimeError(
            f"the tests marked 'emulator' were asked for, but {BINARY} does not name the "
            "executable of an emulator; `make test-emulator` installs one and sets it"
        )
    port = _free_port()
    process = subprocess.Popen(
        [binary, "--host-port", f"127.0.0.1:{port}", "--no-store-on-disk"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait_until_it_listens(process, port)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
