"""FastAPI behind uvicorn: two services, one without adapters, that answer in turns.

``python -m lazyentity.bench.subjects.adapter_service SIDE ALIVE`` runs one of them, and prints its
port.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from lazyentity.bench.harness import processes
from lazyentity.bench.harness.stats import (
    Summary,
    paired_difference,
    paired_ratio,
    scaled,
    summarize,
)
from lazyentity.bench.harness.timing import MICROSECONDS, Budget

_ROWS, _CPU = "/rows", "/cpu"
_REQUESTS = 20
"""That are sent to a service before it is the other's turn."""


def _serve(side: str, alive: int) -> None:
    import fastapi
    import uvicorn

    from lazyentity.bench.subjects.adapted import installed
    from lazyentity.bench.subjects.adapter_costs import entities, listed, row_model, rows

    with installed() if side == "adapted" else contextlib.nullcontext():
        app, made = fastapi.FastAPI(), rows(200)
        model = row_model()

        @app.get(_ROWS, response_model=listed(model))
        async def read() -> Any:
            return made

        @app.get(_CPU)
        async def cpu() -> float:
            return time.process_time()

        kept = entities(alive)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            sys.stdout.write(f"{listening.getsockname()[1]}\n")
            sys.stdout.flush()
            config = uvicorn.Config(app, log_level="critical", lifespan="off")
            uvicorn.Server(config).run(sockets=[listening])
        del kept


@contextlib.contextmanager
def _service(side: str, alive: int) -> Iterator[Callable[[], float]]:
    """Run a service; yields a function that makes requests, and returns the CPU seconds of one."""
    with processes.serving(__name__, side, str(alive)) as port:
        connection = http.client.HTTPConnection("127.0.0.1", port)

        def answer(path: str) -> bytes:
            connection.request("GET", path)
            return connection.getresponse().read()

        def requests() -> float:
            start = float(answer(_CPU))
            for _ in range(_REQUESTS):
                answer(_ROWS)
            return (float(answer(_CPU)) - start) / _REQUESTS

        yield requests
        connection.close()


def measure(alive: int, budget: Budget) -> tuple[Summary, Summary, Summary]:
    """Return microseconds of CPU time of a request without adapters, those more with, the ratio."""
    stock: list[float] = []
    adapted: list[float] = []
    with _service("stock", alive) as of_stock, _service("adapted", alive) as of_adapted:
        of_stock(), of_adapted()
        deadline = time.perf_counter() + budget.seconds
        while len(stock) < budget.min_rounds or time.perf_counter() < deadline:
            stock.append(of_stock())
            adapted.append(of_adapted())
    return (
        summarize(scaled(stock, MICROSECONDS)),
        paired_difference(adapted, stock, MICROSECONDS),
        paired_ratio(adapted, stock),
    )


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
