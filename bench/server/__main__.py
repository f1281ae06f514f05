"""``python -m lazyentity.bench.server``: serve until SIGTERM or SIGINT.

Once both ports answer, one line of JSON on standard output names them:
``{"grpc": PORT, "http": PORT}``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import threading

from . import demo
from .command import stopped_by_signal
from .grpc_frontend import start_grpc
from .http_frontend import start_http
from .service import DatastoreService


def main() -> None:
    """Run the server until it is told to stop."""
    parser = argparse.ArgumentParser(
        prog="python -m lazyentity.bench.server",
        description="A loopback Datastore server for tests and benchmarks; not an emulator.",
    )
    parser.add_argument("--grpc-port", type=int, default=0, help="0 takes a free one (default)")
    parser.add_argument("--http-port", type=int, default=0, help="0 takes a free one (default)")
    parser.add_argument("--batch-size", type=int, help="most entities in one batch of a query")
    parser.add_argument("--lookup-limit", type=int, help="most keys that one Lookup answers")
    parser.add_argument(
        "--latency", type=float, default=0.0, help="seconds before every answer (default: none)"
    )
    parser.add_argument(
        "--trusting", action="store_true", help="store entities without parsing them"
    )
    parser.add_argument("--demo", action="store_true", help="begin with 300 orders")
    parser.add_argument("--firestore", action="store_true", help="serve Firestore over gRPC alone")
    parser.add_argument(
        "--exit-with-parent", action="store_true", help="exit when standard input is closed"
    )
    options = vars(parser.parse_args())
    # Stored entities have no reference cycles; the collector would search them at every commit.
    gc.set_threshold(100_000)
    stopped = stopped_by_signal()
    is_bound_to_parent = options.pop("exit_with_parent")
    grpc_port, http_port = options.pop("grpc_port"), options.pop("http_port")
    is_demo, is_firestore = options.pop("demo"), options.pop("firestore")
    if is_firestore:
        server, grpc_port = demo.start_firestore(grpc_port, is_loaded=is_demo)
    else:
        service = DatastoreService(**options)
        if is_demo:
            demo.load(service)
        server, grpc_port = start_grpc(service, grpc_port, calls_wait=options["latency"] > 0)
        _, http_port = start_http(service, http_port)
    sys.stdout.write(json.dumps({"grpc": grpc_port, "http": http_port}) + "\n")
    sys.stdout.flush()

    if is_bound_to_parent:

        def wait_for_parent() -> None:
            # A thread that waits inside sys.stdin holds its lock, and CPython aborts on the way out
            # where it can't take that.
            while os.read(sys.stdin.fileno(), 4096):
                pass
            stopped.set()

        threading.Thread(target=wait_for_parent, daemon=True).start()
    stopped.wait()
    server.stop(grace=None).wait()


if __name__ == "__main__":
    main()
