"""``python -m lazyentity server``: a Datastore server for the examples of the documentation."""

from __future__ import annotations

import argparse
import signal
import socket
import sys
import threading

from lazyentity.bench.server import demo
from lazyentity.bench.server.grpc_frontend import start_grpc
from lazyentity.bench.server.service import DatastoreService

_PORT = 8081
_HIGHEST_PORT = 65_535


def stopped_by_signal() -> threading.Event:
    """Return an event that SIGTERM or SIGINT sets."""
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    return stopped


def _port(given: str) -> int:
    """The port of an option.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    if not given.isdecimal() or int(given) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{given} is no port; give one from 0 to {_HIGHEST_PORT}")
    return int(given)


def _is_free(port: int) -> bool:
    """Whether a server can listen there. gRPC writes a log of its attempts where it cannot."""
    with socket.socket() as attempt:
        # As gRPC does: connections that were just closed do not count.
        attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            attempt.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


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
            "Run a Datastore or a Firestore server on this machine. It keeps entities in memory "
            "until Ctrl-C, and takes no credentials. For examples and tests; not an emulator."
        ),
    )
    parser.add_argument(
        "--port", type=_port, default=_PORT, help=f"0 takes a free one ({_PORT} by default)"
    )
    parser.add_argument("--demo", action="store_true", help=f"begin with {demo.DESCRIPTION}")
    parser.add_argument(
        "--firestore",
        action="store_true",
        help=f"serve Firestore; with --demo, begin with {demo.DOCUMENTS_DESCRIPTION}",
    )
    given = parser.parse_args(arguments)
    if not _is_free(given.port):
        parser.exit(2, f"port {given.port} is in use, or not allowed; choose another with --port\n")
    stopped = stopped_by_signal()
    if given.firestore:
        try:
            server, port = demo.start_firestore(given.port, is_loaded=given.demo)
        except ImportError as error:
            parser.exit(2, f"{error}; install it with `pip install 'lazyentity[firestore]'`\n")
        variable, loaded = "FIRESTORE_EMULATOR_HOST", demo.DOCUMENTS_DESCRIPTION
    else:
        service = DatastoreService()
        if given.demo:
            demo.load(service)
        server, port = start_grpc(service, given.port)
        variable, loaded = "DATASTORE_EMULATOR_HOST", demo.DESCRIPTION
    if given.demo:
        sys.stdout.write(f"it holds {loaded}\n")
    sys.stdout.write(
        f"serving until Ctrl-C; in another terminal:\n\nexport {variable}=127.0.0.1:{port}\n"
    )
    sys.stdout.flush()
    stopped.wait()
    server.stop(grace=None).wait()
