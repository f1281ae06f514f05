"""The work of the two processes of the demonstration.

Each runs the user code below several times against the server that ``DATASTORE_EMULATOR_HOST``
names. They differ only in the first line, ``import lazyentity.auto``.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from types import CodeType
from typing import Any

WARM_UP = 5
ROUNDS = 25

ACTIVATION = "import lazyentity.auto"
IMPORTS = "from google.cloud import datastore"
USER_CODE = """\
client = datastore.Client(project="bench")
query = client.query(kind="Order")
total = sum(order["amount"] for order in query.fetch())
"""


@dataclass(frozen=True)
class Report:
    """Medians over the rounds, in milliseconds, and the result."""

    wall_ms: float
    cpu_ms: float
    total: float
    properties: int
    decoded: int


def _compile(code: str) -> CodeType:
    return compile(code, "<user code>", "exec")


def run(lazy: bool, rounds: int) -> Report:
    """Run the user code ``rounds`` times and report."""
    scope: dict[str, Any] = {}
    imports = f"{ACTIVATION}\n{IMPORTS}" if lazy else IMPORTS
    exec(_compile(imports), scope)  # noqa: S102  # the constants above: the code that is shown
    client_line, rest = USER_CODE.split("\n", maxsplit=1)
    exec(_compile(client_line), scope)  # noqa: S102  # as above
    code = _compile(rest)
    wall, cpu = [], []
    for done in range(WARM_UP + rounds):
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        exec(code, scope)  # noqa: S102  # as above
        if done >= WARM_UP:
            cpu.append((time.process_time() - cpu_start) * 1e3)
            wall.append((time.perf_counter() - wall_start) * 1e3)
    # The same iteration, with the entities kept to look at.
    orders = list(scope["query"].fetch())
    for order in orders:
        order["amount"]
    # A stock entity holds decoded values only.
    properties = decoded = sum(map(len, orders))
    if lazy:
        import lazyentity

        decoded = sum(len(lazyentity.decoded(order)) for order in orders)
    return Report(
        wall_ms=statistics.median(wall),
        cpu_ms=statistics.median(cpu),
        total=scope["total"],
        properties=properties,
        decoded=decoded,
    )
