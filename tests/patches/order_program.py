"""Takes the steps of its first argument, and prints the results of each read.

Run as ``python -m tests.patches.order_program STEPS GRPC_PORT HTTP_PORT``, the steps separated
by commas. Imports nothing of the client or of lazyentity before a step says so.
"""

from __future__ import annotations

import importlib
import json
import sys
from typing import Any

from tests.support.describing import describe, entity_types

KIND = "Ordered"
"""Kind of the stored entities; their ids are 1 to :data:`COUNT`."""

COUNT = 3


def read(client: Any) -> dict[str, Any]:
    """Return the classes and contents of all entities that the client's reads give."""
    keys = [client.key(KIND, number + 1) for number in range(COUNT)]
    results = {
        "get": client.get(keys[0]),
        "get_multi": sorted(client.get_multi(keys), key=lambda entity: entity.key.id),
        "fetch": list(client.query(kind=KIND, order=("__key__",)).fetch()),
    }
    return {
        "classes": sorted(entity_types(list(results.values()))),
        "contents": {name: describe(result) for name, result in results.items()},
    }


def main(steps: list[str], ports: dict[str, int]) -> list[dict[str, Any]]:
    """Take the steps and return the results of each read, by transport."""
    clients: dict[str, Any] = {}
    reads = []
    for step in steps:
        if step == "import client":
            importlib.import_module("google.cloud.datastore")
        elif step == "import lazyentity":
            importlib.import_module("lazyentity")
        elif step == "import lazyentity.auto":
            importlib.import_module("lazyentity.auto")
        elif step in ("patch", "unpatch"):
            getattr(sys.modules["lazyentity"], step)()
        elif step == "make client":
            make_client = importlib.import_module("tests.support.clients").make_client
            clients = {transport: make_client(port, transport) for transport, port in ports.items()}
        elif step == "read":
            reads.append({transport: read(client) for transport, client in clients.items()})
        else:
            raise ValueError(f"no such step: {step}")
    return reads


if __name__ == "__main__":
    taken = main(sys.argv[1].split(","), {"grpc": int(sys.argv[2]), "http": int(sys.argv[3])})
    sys.stdout.write(json.dumps(taken))
