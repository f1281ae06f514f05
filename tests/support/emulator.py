"""A real Datastore emulator as a child process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.support import child_server

BINARY: Final = "LAZYENTITY_TEST_EMULATOR"
"""The environment variable that names the emulator's executable."""


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
            "executable of an emulator; `make test WHAT=emulator` installs one and sets it"
        )

    def command(port: int) -> list[str]:
        return [binary, "--host-port", f"127.0.0.1:{port}", "--no-store-on-disk"]

    with child_server.running(command) as port:
        yield port
