"""The work of the two processes of the demonstration, which print a report as JSON.

Each runs the user code below several times against the server that the variable of an emulator
names. They differ only in the first line, ``import lazyentity.auto``.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

WARM_UP = 5
ROUNDS = 25

ACTIVATION = "import lazyentity.auto"
CODE = {
    "datastore": """\
from google.cloud import datastore
client = datastore.Client(project="demo")
query = client.query(kind="Order")
total = sum(order["amount"] for order in query.fetch())
""",
    "firestore": """\
from google.cloud import firestore
client = firestore.Client(project="demo")
query = client.collection("orders")
total = sum(order.get("amount") for order in query.stream())
""",
}
"""The code of a user, by client: the import, the client, a query, and what is timed with it."""


def run(client: str, lazy: bool, rounds: int) -> dict[str, float]:
    """Run the user code ``rounds`` times.

    Returns:
        The medians of wall and of CPU time, in milliseconds, and the total that was computed.
    """
    scope: dict[str, Any] = {}
    lines = CODE[client].splitlines()
    exec("\n".join([*[ACTIVATION] * lazy, *lines[:2]]), scope)  # noqa: S102  # the code that is shown
    code = compile("\n".join(lines[2:]), "<user code>", "exec")
    wall, cpu = [], []
    for done in range(WARM_UP + rounds):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        exec(code, scope)  # noqa: S102  # as above
        if done >= WARM_UP:
            cpu.append((time.process_time() - cpu_start) * 1e3)
            wall.append((time.perf_counter() - wall_start) * 1e3)
    return {"wall": statistics.median(wall), "cpu": statistics.median(cpu), "total": scope["total"]}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(sys.argv[1], sys.argv[2] == "lazy", ROUNDS)))
