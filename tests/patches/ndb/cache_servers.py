"""Real servers of global caches as child processes."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support import child_server


def _required(executable: str) -> str:
    found = shutil.which(executable)
    if found is None:
        raise RuntimeError(
            f"the tests of a cache were asked for, but there is no {executable}: install it "
            f"(Debian, Ubuntu: apt-get install {executable}), or run `make test WHAT=caches`"
        )
    return found


def _pongs(connection: socket.socket) -> bool:
    connection.sendall(b"PING\r\n")
    return connection.recv(16).startswith(b"+PONG")


@contextmanager
def running_redis(folder: Path) -> Iterator[int]:
    """Run a Redis server that keeps everything in memory, and give its port on 127.0.0.1.

    Args:
        folder: where it runs; it writes nothing.

    Raises:
        RuntimeError: if redis-server is not installed, or if it does not start.
    """
    executable = _required("redis-server")

    def command(port: int) -> list[str]:
        options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
        return [executable, *options, "--dir", str(folder)]

    with child_server.running(command, _pongs) as port:
        yield port


def _tells_its_version(connection: socket.socket) -> bool:
    connection.sendall(b"version\r\n")
    return connection.recv(16).startswith(b"VERSION")


@contextmanager
def running_memcached() -> Iterator[int]:
    """Run a memcached server, and give its port on 127.0.0.1.

    Raises:
        RuntimeError: if memcached is not installed, or if it does not start.
    """
    executable = _required("memcached")

    def command(port: int) -> list[str]:
        options = ["--listen=127.0.0.1", f"--port={port}", "--udp-port=0"]
        # It does not run as root without being told to.
        return [executable, *options, *(["--user=root"] if os.geteuid() == 0 else [])]

    with child_server.running(command, _tells_its_version) as port:
        yield port
