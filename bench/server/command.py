"""``python -m lazyentity server``: a Datastore server for the examples of the documentation."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from lazyentity.bench.server.grpc_frontend import start_grpc
from lazyentity.bench.server.service import DatastoreService

_PORT = 8081


def stopped_by_signal() -> threading.Event:
    """Return an event that SIGTERM or SIGINT sets."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    return stopped


def main(arguments: list[str], program: str) -> None:
    """Serve until SIGTERM or SIGINT.

    Args:
        arguments: the arguments of the command.
        program: the name of the command, for its help.

    Raises:
        SystemExit: the arguments are not understood, or only ask for help; or the port is in use.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description=(
            "Run a Datastore server on this machine. It keeps entities in memory until Ctrl-C, and "
            "takes no credentials. For examples and tests; not an emulator."
        ),
    )
    parser.add_argument(
        "--port", type=int, default=_PORT, help=f"0 takes a free one ({_PORT} by default)"
    )
    given = parser.parse_args(arguments)
    stopped = stopped_by_signal()
    try:
        server, port = start_grpc(DatastoreService(), given.port)
    except RuntimeError:
        parser.error(f"port {given.port} cannot be used; choose another with --port")
    sys.stdout.write(
        "serving until Ctrl-C; in another terminal:\n\n"
        f"export DATASTORE_EMULATOR_HOST=127.0.0.1:{port}\n"
    )
    sys.stdout.flush()
    stopped.wait()
    server.stop(grace=None).wait()
