"""The cost of the adapters to their users, and the gain that remains."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import fastapi
import orjson
import pydantic

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import sides
from lazyentity.bench.harness.lines import DICTS, ORJSON, RESPONSE_MODEL, VALIDATE, Adapted
from lazyentity.bench.harness.stats import paired_difference
from lazyentity.bench.harness.timing import MICROSECONDS, Budget, Task, figures, interleave
from lazyentity.patches import adapters

ENTITIES, PROPERTIES = 200, 60


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """All adapters are in force inside, and none afterwards."""
    with warnings.catch_warnings():
        # The warnings are about modules of this package itself.
        warnings.simplefilter("ignore")
        adapters.install()
    try:
        yield
    finally:
        adapters.remove()


@contextlib.contextmanager
def removed() -> Iterator[None]:
    """No adapter is in force inside."""
    adapters.remove()
    yield


def _endpoint(model: Any) -> Callable[[sides.Side], Task]:
    """Return a function that makes a request of a FastAPI application, without a socket."""
    responses = decoding.case("mixed", PROPERTIES, "4", ENTITIES, ENTITIES).responses

    def of_side(side: sides.Side) -> Task:
        app = fastapi.FastAPI()

        @app.get("/", response_model=model)
        async def read() -> Any:
            return [entity for response in responses for entity in side.entities(response)]

        request = request_of(app)
        return lambda: asyncio.run(request())

    return of_side


def request_of(app: fastapi.FastAPI, path: str = "/") -> Any:
    """Return a coroutine function that makes a request of an application, without a socket."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def request() -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await app(dict(scope), receive, send)
        assert sent[0]["status"] == 200
        return sent

    return request


def _six_fields() -> Any:
    entity = synthetic.MIXES["mixed"].entity(PROPERTIES, 1)
    fields: dict[str, Any] = {name: (type(entity[name]), ...) for name in list(entity)[:6]}
    return pydantic.create_model("SixFields", **fields)


def listed(kind: Any) -> Any:
    """Return the type of a list."""
    return list[kind]


def _plain_document() -> Any:
    row = {"name": "value", "number": 12345, "ratio": 0.5, "tags": ["a", "b"], "inner": {"x": None}}
    return [row] * (1_000_000 // len(orjson.dumps(row)))


def _validate(_: sides.Side) -> Task:
    fields: Any = {"number": (int, ...), "text": (str, ...), "ratio": (float, ...)}
    adapter = pydantic.TypeAdapter(pydantic.create_model("Small", **fields))
    value = {"number": 1, "text": "x", "ratio": 1.5}
    return lambda: adapter.validate_python(value)


def _dumps() -> Callable[[sides.Side], Task]:
    # One document for both sides: an equal one elsewhere in memory may cost more than the bound.
    document = _plain_document()
    return lambda _: lambda: orjson.dumps(document)


_USES: dict[str, Callable[[], Callable[[sides.Side], Task]]] = {
    RESPONSE_MODEL: lambda: _endpoint(listed(_six_fields())),
    DICTS: lambda: _endpoint(listed(dict)),
    ORJSON: _dumps,
    VALIDATE: lambda: _validate,
}

NAMES = tuple(_USES)


def measure(name: str, budget: Budget) -> Adapted:
    """Time one of :data:`NAMES`: stock entities and no adapters, next to lazy ones and adapters."""
    make = _USES[name]()
    timed = interleave(
        {"stock": make(sides.STOCK), "lazy": make(sides.LAZY)},
        budget,
        {"stock": removed, "lazy": installed},
    )
    more = paired_difference(timed["lazy"].seconds, timed["stock"].seconds, MICROSECONDS)
    return Adapted(use=name, more=more, **figures(timed, MICROSECONDS, ratio=("lazy", "stock")))
