"""What the adapters cost calls that no entity is in.

    python -m lazyentity.bench.adapters

Prints, for each call, the CPU time of the bare call, and the ratio with the adapters while no
entity is alive, 1 is, and 10,000 are elsewhere in the process.
"""

from __future__ import annotations

import dataclasses
import importlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import lazyentity
from lazyentity.patches import adapters

ROUNDS = 15
ROWS: list[dict[str, Any]] = [
    {"id": number, "name": f"row {number}", "price": number / 7, "active": True, "tags": ["a", "b"]}
    for number in range(200)
]
ALIVE = (0, 1, 10_000)


class Client:
    """An object of the application with a cache."""

    def __init__(self) -> None:
        self.cache = {number: {"row": number} for number in range(10_000)}


@dataclasses.dataclass
class Row:
    """A row."""

    id: int
    name: str
    price: float
    active: bool
    tags: list[str]


def calls() -> dict[str, Callable[[], object]]:
    """Return the measured calls by name."""
    # Not at the top of the module: the adapters would rebind names of its own.
    lib: Any = importlib.import_module
    orjson, msgspec, polars, pydantic = map(lib, ("orjson", "msgspec", "polars", "pydantic"))
    context = pydantic.create_model("Context", client=(Any, ...))
    item: Any = pydantic.create_model(
        "Item", id=int, name=str, price=float, active=bool, tags=list[str]
    )
    kind: Any = list.__class_getitem__(item)
    rows, anything = pydantic.TypeAdapter(kind), pydantic.TypeAdapter(list[Any])
    models = rows.validate_python(ROWS)
    objects, client, instances = (
        [Client.__new__(Client) for _ in range(300)],
        Client(),
        [Row(**row) for row in ROWS],
    )
    validator = item.__pydantic_validator__
    struct: Any = msgspec.defstruct("Item", list(item.__annotations__.items()))
    converted: Any = list.__class_getitem__(struct)
    return {
        "orjson.dumps of a small dict": lambda: orjson.dumps({"id": 1, "name": "x"}),
        "orjson.dumps with default=": lambda: orjson.dumps([1, client], default=id),
        "SchemaValidator.validate_python": lambda: validator.validate_python(ROWS[0]),
        "polars.DataFrame of 200 rows": lambda: polars.DataFrame(ROWS),
        "a model with a client in a field of Any": lambda: context(client=client),
        "TypeAdapter(list[Any]) of 300 objects": lambda: anything.validate_python(objects),
        "isinstance(x, BaseModel)": lambda: isinstance(client, pydantic.BaseModel),
        "msgspec.convert of 200 dataclasses": lambda: msgspec.convert(
            instances, converted, from_attributes=True
        ),
        "dump_json of 200 models": lambda: rows.dump_json(models),
        "a request to FastAPI, 200 rows": _request(kind),
    }


def _request(kind: Any) -> Callable[[], object]:
    fastapi: Any = importlib.import_module("fastapi")
    client: Any = importlib.import_module("fastapi.testclient").TestClient
    app = fastapi.FastAPI()
    app.get("/", response_model=kind)(lambda: ROWS)
    made = client(app)
    return lambda: made.get("/").content


def _seconds(call: Callable[[], object], number: int) -> float:
    begun = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - begun) / number


def measure(call: Callable[[], object], entities: list[Any]) -> tuple[float, list[float]]:
    """Return the seconds of the bare call, and the ratios by :data:`ALIVE`."""
    adapters.remove()
    number = max(1, int(0.02 / max(_seconds(call, 3), 1e-7)))
    bare: list[float] = []
    ratios: dict[int, list[float]] = {alive: [] for alive in ALIVE}
    for _ in range(ROUNDS):
        adapters.remove()
        bare.append(_seconds(call, number))
        adapters.install()
        for alive in ALIVE:
            kept = [lazyentity.LazyEntity.from_bytes(raw) for raw in entities[:alive]]
            ratios[alive].append(_seconds(call, number) / bare[-1])
            del kept
    return statistics.median(bare), [statistics.median(ratios[alive]) for alive in ALIVE]


def main() -> None:
    """Print a line for each call."""
    made = lazyentity.LazyEntity()
    made.update(text="x" * 10, number=1)
    raws = [lazyentity.raw(made)] * max(ALIVE)
    del made
    for name, call in calls().items():
        bare, ratios = measure(call, raws)
        figures = "".join(f"{ratio:7.2f}" for ratio in ratios)
        sys.stdout.write(f"{name:42}{1e6 * bare:10.2f} us{figures}\n")


if __name__ == "__main__":
    main()
