"""A real Redis server as a child process."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import child_server


def _answers(connection: socket.socket) -> bool:
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
    binary = shutil.which("redis-server")
    if binary is None:
        raise RuntimeError(
            "the tests marked 'redis' were asked for, but there is no redis-server: install it "
            "(Debian, Ubuntu: apt-get install redis-server), or run `make test-redis`, which does"
        )

    def command(port: int) -> list[str]:
        options = ["--bind", "127.0.0.1", "--port", str(port), "--save", "", "--appendonly", "no"]
        return [binary, *options, "--dir", str(folder)]

    with child_server.running(command, _answers) as port:
        yield port
