"""``python -m lazyentity server``: a Datastore server for the examples of the documentation.

``python -m lazyentity.bench.server`` is the same for tests and benchmarks, which start it as a
child process: it serves over HTTP too, takes its options as JSON, and writes its ports as a line of
JSON, ``{"grpc": PORT, "http": PORT}``.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import threading
from queue import SimpleQueue
from typing import Any

import click
import grpc

from lazyentity.bench.server import demo
from lazyentity.bench.server.datastore import DatastoreService
from lazyentity.bench.server.grpc_frontend import start_grpc
from lazyentity.bench.server.http_frontend import start_http


def _stopped_by_signal() -> SimpleQueue[None]:
    """Return a queue that SIGTERM or SIGINT puts something into.

    It may be interrupted anywhere; an event that is set while its lock is held waits for ever.
    """
    stopped: SimpleQueue[None] = SimpleQueue()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.put(None))
    return stopped


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


def _datastore(is_loaded: bool, **options: Any) -> DatastoreService:
    service = DatastoreService(**options)
    if is_loaded:
        demo.load(service)
    return service


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8081,
    show_default=True,
    help="0 takes a free one.",
)
@click.option("--demo", "is_loaded", is_flag=True, help=f"Begin with {demo.DESCRIPTION}.")
@click.option(
    "--firestore",
    is_flag=True,
    help=f"Serve Firestore; with --demo, begin with {demo.DOCUMENTS_DESCRIPTION}.",
)
def main(*, port: int, is_loaded: bool, firestore: bool) -> None:
    """Run a Datastore or a Firestore server on this machine.

    It keeps entities in memory until Ctrl-C, and takes no credentials. For examples and tests; not
    an emulator.
    """
    if not _is_free(port):
        raise click.UsageError(f"port {port} is in use, or not allowed; choose another with --port")
    stopped = _stopped_by_signal()
    if firestore:
        try:
            server, port = demo.start_firestore(port, is_loaded)
        except ImportError as error:
            raise click.UsageError(
                f"{error}; install it with `pip install '.[firestore]'` in a checkout of lazyentity"
            ) from error
        variable, loaded = "FIRESTORE_EMULATOR_HOST", demo.DOCUMENTS_DESCRIPTION
    else:
        server, port = start_grpc(_datastore(is_loaded), port)
        variable, loaded = "DATASTORE_EMULATOR_HOST", demo.DESCRIPTION
    if is_loaded:
        click.echo(f"it holds {loaded}")
    click.echo("serving until Ctrl-C; in another terminal:\n")
    click.echo(f"export {variable}=127.0.0.1:{port}")
    _wait(server, stopped)


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
        service = _datastore(is_loaded, **options)
        server, grpc_port = start_grpc(service, 0)
        _, http_port = start_http(service, 0)
    click.echo(json.dumps({"grpc": grpc_port, "http": http_port}))

    def wait_for_parent() -> None:
        # A thread that waits inside sys.stdin holds its lock, and CPython aborts on the way out
        # where it can't take that.
        while os.read(0, 4096):
            pass
        stopped.put(None)

    threading.Thread(target=wait_for_parent, daemon=True).start()
    _wait(server, stopped)


def _wait(server: grpc.Server, stopped: SimpleQueue[None]) -> None:
    stopped.get()
    server.stop(grace=None).wait()
