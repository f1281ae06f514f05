"""The loopback server as a child process."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

_STOP_SECONDS = 10.0


class LoopbackServer:
    """A context manager that runs a loopback server, and stops it by its process id.

    The child also ends when this process dies in any way: its standard input is then closed.

    >>> with LoopbackServer() as server:  # doctest: +SKIP
    ...     client_options = {"api_endpoint": f"http://127.0.0.1:{server.grpc_port}"}
    """

    grpc_port: int
    http_port: int

    def __init__(self, **options: Any) -> None:
        """Nothing runs before ``with``.

        Args:
            options: those of `DatastoreService`; ``demo=True`` to begin with 300 orders, and
                ``firestore=True`` to serve Firestore, over gRPC alone.
        """
        self._options = options

    def __enter__(self) -> LoopbackServer:
        """Start the server and wait until it answers.

        Raises:
            RuntimeError: when the server ends; its own error is on standard error.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}", json.dumps(self._options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C in the terminal would end the server before this process has ended its calls.
            start_new_session=True,
        )
        try:
            assert self._process.stdout is not None  # It was asked for as a pipe.
            line = self._process.stdout.readline()
            if not line:
                status = self._process.wait(_STOP_SECONDS)
                raise RuntimeError(f"the loopback server ended with status {status}")
            ports = json.loads(line)
        except BaseException:
            self._stop()
            raise
        self.grpc_port = ports["grpc"]
        self.http_port = ports["http"]
        return self

    def __exit__(self, *raised: object) -> None:
        self._stop()

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    def _stop(self) -> None:
        self._process.terminate()
        try:
            self._process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
