"""``python -m lazyentity server``: a Datastore server for the examples of the documentation.

``python -m lazyentity.bench.server`` is the same for tests and benchmarks, which start it as a
child process: it serves over HTTP too, takes its options as JSON, and writes its ports as a line of
JSON, ``{"grpc": PORT, "http": PORT}``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import signal
import socket
import sys
import threading
from typing import Any

from lazyentity.bench.server import demo
from lazyentity.bench.server.grpc_frontend import start_grpc
from lazyentity.bench.server.http_frontend import start_http
from lazyentity.bench.server.service import DatastoreService

_PORT = 8081
_HIGHEST_PORT = 65_535


def _stopped_by_signal() -> threading.Event:
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
    stopped = _stopped_by_signal()
    if given.firestore:
        try:
            server, port = demo.start_firestore(given.port, is_loaded=given.demo)
        except ImportError as error:
            hint = "install it with `pip install '.[firestore]'` in a checkout of lazyentity"
            parser.exit(2, f"{error}; {hint}\n")
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


def child(given: str) -> None:
    """Serve until SIGTERM or SIGINT, or until the standard input is closed.

    Args:
        given: the options of `LoopbackServer` as JSON.
    """
    options: dict[str, Any] = json.loads(given)
    is_loaded, http_port = options.pop("demo", False), 0
    # Stored entities have no reference cycles; the collector would search them at every commit.
    gc.set_threshold(100_000)
    stopped = _stopped_by_signal()
    if options.pop("firestore", False):
        server, grpc_port = demo.start_firestore(0, is_loaded)
    else:
        service = DatastoreService(**options)
        if is_loaded:
            demo.load(service)
        server, grpc_port = start_grpc(service, 0)
        _, http_port = start_http(service, 0)
    sys.stdout.write(json.dumps({"grpc": grpc_port, "http": http_port}) + "\n")
    sys.stdout.flush()

    def wait_for_parent() -> None:
        # A thread that waits inside sys.stdin holds its lock, and CPython aborts on the way out
        # where it can't take that.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        stopped.set()

    threading.Thread(target=wait_for_parent, daemon=True).start()
    stopped.wait()
    server.stop(grace=None).wait()
