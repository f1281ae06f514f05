"""The adapters: calls of libraries that no entity is in, with few or many entities elsewhere."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import lazyentity
from lazyentity.bench import verify
from lazyentity.bench.harness import PER_ENTITY, Case, Comparison, Plan
from lazyentity.patches import adapters

ALIVE = (0, 1, 10_000)
"""How many lazy entities live in the process while the adapted call is timed."""

ROWS: list[dict[str, Any]] = [
    {"id": number, "name": f"row {number}", "price": number / 7, "active": True, "tags": ["a", "b"]}
    for number in range(200)
]

Call = Callable[[], object]


class _Client:
    """An object of the application with a cache."""

    def __init__(self) -> None:
        self.cache = {number: {"row": number} for number in range(10_000)}


@dataclasses.dataclass
class _Row:
    id: int
    name: str
    price: float
    active: bool
    tags: list[str]


def cases(plan: Plan) -> Iterator[Case]:
    """The calls of the installed libraries, by the number of entities alive."""
    for name, prepare in _CALLS.items():
        with contextlib.suppress(ImportError):
            call = prepare()
            for alive in ALIVE:
                make = functools.partial(_comparing, call, alive)
                yield Case("calls", name, 1, 0, f"{alive:,} alive", PER_ENTITY, make)


@contextlib.contextmanager
def _comparing(call: Call, alive: int) -> Iterator[Comparison]:
    """Give the call, which both sides make; the adapters are installed for the lazy side."""
    made = lazyentity.LazyEntity()
    made.update(text="x" * 10, number=1)
    raw = lazyentity.raw(made)
    # A lazy entity must not live while the original is timed.
    del made

    @contextlib.contextmanager
    def adapted() -> Iterator[None]:
        adapters.install()
        kept = [lazyentity.LazyEntity.from_bytes(raw) for _ in range(alive)]
        try:
            yield
        finally:
            kept.clear()
            adapters.remove()

    def check(stock: object, lazy: object) -> None:
        verify.check_same(_comparable(stock), _comparable(lazy), "result")

    adapters.remove()
    try:
        yield Comparison(call, call, check, adapted)
    finally:
        adapters.install()


def _comparable(result: object) -> object:
    return result if isinstance(result, (bool, bytes)) else type(result).__name__


def _library(name: str) -> Any:
    # Not at the top of the module: the adapters would rebind the names here.
    return importlib.import_module(name)


def _encoding() -> Call:
    orjson = _library("orjson")
    return lambda: orjson.dumps({"id": 1, "name": "x"})


def _encoding_with_default() -> Call:
    orjson, client = _library("orjson"), _Client()
    return lambda: orjson.dumps([1, client], default=id)


def _polars() -> Call:
    polars = _library("polars")
    return lambda: polars.DataFrame(ROWS)


def _item() -> Any:
    kinds: Any = {"id": int, "name": str, "price": float, "active": bool, "tags": list[str]}
    return _library("pydantic").create_model("Item", **kinds)


def _validating() -> Call:
    validator = _item().__pydantic_validator__
    return lambda: validator.validate_python(ROWS[0])


def _model_with_client() -> Call:
    model, client = _library("pydantic").create_model("Context", client=(Any, ...)), _Client()
    return lambda: model(client=client)


def _list_of_any() -> Call:
    adapter = _library("pydantic").TypeAdapter(list[Any])
    objects = [object() for _ in range(300)]
    return lambda: adapter.validate_python(objects)


def _dumping() -> Call:
    adapter = _library("pydantic").TypeAdapter(list.__class_getitem__(_item()))
    models = adapter.validate_python(ROWS)
    return lambda: adapter.dump_json(models)


def _converting() -> Call:
    msgspec = _library("msgspec")
    struct = msgspec.defstruct("Item", list(_Row.__annotations__))
    rows, kind = [_Row(**row) for row in ROWS], list.__class_getitem__(struct)
    return lambda: msgspec.convert(rows, kind, from_attributes=True)


def _is_model() -> Call:
    model, value = _library("pydantic").BaseModel, object()
    return lambda: isinstance(value, model)


def _request() -> Call:
    app = _library("fastapi").FastAPI()

    async def rows() -> list[dict[str, Any]]:
        return ROWS

    app.add_api_route("/", rows, response_model=list.__class_getitem__(_item()))
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}

    async def respond() -> bytes:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await app(dict(scope), receive, send)
        return b"".join(message.get("body", b"") for message in sent)

    def request() -> object:
        # Without an event loop, which takes a fifth of the time: nothing waits here.
        try:
            respond().send(None)
        except StopIteration as ended:
            return ended.value
        raise RuntimeError("the request waits for something")

    return request


_CALLS: dict[str, Callable[[], Call]] = {
    "orjson.dumps of a small dict": _encoding,
    "orjson.dumps with default=": _encoding_with_default,
    "SchemaValidator.validate_python": _validating,
    "polars.DataFrame of 200 rows": _polars,
    "a model that holds a client object": _model_with_client,
    "TypeAdapter(list[Any]), 300 items": _list_of_any,
    "msgspec.convert of 200 dataclasses": _converting,
    "dump_json of 200 models": _dumping,
    "isinstance(object(), BaseModel)": _is_model,
    "a FastAPI request of 200 rows": _request,
}
"""Each imports its library, and gives the call to time."""
