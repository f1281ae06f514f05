"""The entities that the tests of several clients read, and the results of each read of them.

Imports nothing of the client, so that a process can import this first.
"""

from __future__ import annotations

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
