"""The cost of the adapters to calls that no entity is in, one line for each use of a library."""

from __future__ import annotations

import asyncio
import dataclasses
import importlib.util
import time
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pydantic
from google.cloud.datastore import Entity, Key, helpers

from lazyentity import LazyEntity
from lazyentity.bench.harness.lines import AdapterCost
from lazyentity.bench.harness.stats import paired_difference, paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import AFTER_CHANGE, MICROSECONDS, Budget, Task, interleave
from lazyentity.bench.subjects import adapter_service
from lazyentity.bench.subjects.adapted import installed, removed, request_of

MANY = 10_000
"""Entities alive elsewhere, as in a cache."""

_HELD_ROWS = 14_000
_HELD_DICTS = 20_000


def _row(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"name {number}",
        "ratio": number / 2,
        "is_new": number % 2 == 0,
        "city": "Bern",
        "note": None,
    }


def rows(count: int) -> list[dict[str, Any]]:
    """Return dicts of six scalars."""
    return [_row(number) for number in range(count)]


def _columns() -> dict[str, list[Any]]:
    made = rows(200)
    return {name: [row[name] for row in made] for name in made[0]}


_Maker = Callable[[], Task]
_USES: dict[tuple[str, str], _Maker] = {}


def _use(library: str, use: str) -> Callable[[Callable[[Any], Task]], Callable[[Any], Task]]:
    """Have a function make the task of a use; it gets the module."""

    def register(make: Callable[[Any], Task]) -> Callable[[Any], Task]:
        _USES[library, use] = lambda: make(importlib.import_module(library))
        return make

    return register


def _call(library: str, function: str, value: Callable[[], Any], use: str, **options: Any) -> None:
    """Register a call of a function of a module with one value, and options."""
    path, _, name = function.rpartition(".")

    def make() -> Task:
        # Found at each call, as an adapter may replace the attribute.
        module, given = importlib.import_module(library), value()
        holder = getattr(module, path) if path else module
        if not options:
            return lambda: getattr(holder, name)(given)
        return lambda: getattr(holder, name)(given, **options)

    _USES[library.partition(".")[0], use] = make


def row_model() -> Any:
    """Return the model of a row."""
    fields: Any = {
        "id": (int, ...),
        "name": (str, ...),
        "ratio": (float, ...),
        "is_new": (bool, ...),
        "city": (str, ...),
        "note": (str | None, None),
    }
    made: Any = pydantic.create_model("Row", __config__={"from_attributes": True}, **fields)
    return made


def listed(kind: Any) -> Any:
    """Return the type of a list."""
    return list[kind]


@_use("pydantic", "a model of one row")
def _constructor(pydantic: Any) -> Task:
    model, row = row_model(), _row(1)
    return lambda: model(**row)


@_use("pydantic", "validate_python, one row")
def _validate_row(pydantic: Any) -> Task:
    adapter, row = pydantic.TypeAdapter(row_model()), _row(1)
    return lambda: adapter.validate_python(row)


@_use("pydantic", "validate_python, 200 rows")
def _validate(pydantic: Any) -> Task:
    adapter, given = pydantic.TypeAdapter(listed(row_model())), rows(200)
    return lambda: adapter.validate_python(given)


@_use("pydantic", "validate_python, 200 models")
def _validate_models(pydantic: Any) -> Task:
    model = row_model()
    adapter = pydantic.TypeAdapter(listed(model))
    models = [model(**row) for row in rows(200)]
    return lambda: adapter.validate_python(models)


@_use("pydantic", "dump_json, 200 models")
def _dump(pydantic: Any) -> Task:
    model = row_model()
    adapter = pydantic.TypeAdapter(listed(model))
    models = [model(**row) for row in rows(200)]
    return lambda: adapter.dump_json(models)


@_use("pydantic", "model_dump")
def _model_dump(pydantic: Any) -> Task:
    model = row_model()(**_row(1))
    return lambda: model.model_dump()


@_use("pydantic", f"from_attributes of an object with {_HELD_ROWS:,} rows")
def _from_attributes(pydantic: Any) -> Task:
    class Held:
        pass

    held: Any = Held()
    vars(held).update(_row(1), rows=rows(_HELD_ROWS))
    model = row_model()
    return lambda: model.model_validate(held)


@_use("pydantic", f"validate_call of a method, {_HELD_DICTS:,} dicts in its object")
def _validate_call(pydantic: Any) -> Task:
    class Service:
        def __init__(self) -> None:
            self.rows = rows(_HELD_DICTS)

        @pydantic.validate_call  # type: ignore[untyped-decorator]  # the module is any
        def add(self, number: int) -> int:
            return number + 1

    service = Service()
    return lambda: service.add(1)


@_use("fastapi", "a request, response_model of 200 rows")
def _request(fastapi: Any) -> Task:
    app, given = fastapi.FastAPI(), rows(200)
    model = row_model()

    @app.get("/", response_model=listed(model))  # type: ignore[untyped-decorator]  # the module is any
    async def read() -> Any:
        return given

    request = request_of(app)
    runner = asyncio.Runner() if hasattr(asyncio, "Runner") else None
    if runner is None:
        return lambda: asyncio.run(request())
    return lambda: runner.run(request())


@_use("sqlmodel", "a model of one row")
def _sqlmodel(sqlmodel: Any) -> Task:
    fields: Any = {"__annotations__": {"id": int, "name": str, "ratio": float, "city": str}}
    model = type("Row", (sqlmodel.SQLModel,), {"__module__": __name__, **fields})
    row = {name: value for name, value in _row(1).items() if name in fields["__annotations__"]}
    return lambda: model(**row)


_call("orjson", "dumps", lambda: _row(1), "dumps, one row")
_call("orjson", "dumps", lambda: rows(200), "dumps, 200 rows, default=", default=str)
_call("msgspec.json", "encode", lambda: rows(200), "encode, 200 rows")
_call("msgspec", "convert", lambda: rows(200), "convert, 200 rows", type=list[dict[str, object]])
_call("ujson", "dumps", lambda: rows(200), "dumps, 200 rows")
_call("rapidjson", "dumps", lambda: rows(200), "dumps, 200 rows, default=", default=str)
_call("ormsgpack", "packb", lambda: rows(200), "packb, 200 rows, default=", default=str)
_call("cbor2", "dumps", lambda: rows(200), "dumps, 200 rows")
_call("bson", "encode", lambda: {"rows": rows(200)}, "encode, 200 rows")
_call(
    "polars",
    "DataFrame",
    lambda: [{**row, "tags": ["a", "b"]} for row in rows(100)],
    "DataFrame, 100 rows with a list in each",
)
_call("polars", "DataFrame", _columns, "DataFrame, columns of 200 rows")
_call("polars", "Series", lambda: [row["name"] for row in rows(200)], "Series, 200 strings")
_call("pyarrow", "array", lambda: [row["name"] for row in rows(200)], "array, 200 strings")
_call("pyarrow", "Table.from_pylist", lambda: rows(200), "Table.from_pylist, 200 rows")
_call("immutables", "Map", lambda: _row(1), "Map, one row")


@_use("pandas", "to_json, 200 rows")
def _to_json(pandas: Any) -> Task:
    frame = pandas.DataFrame(rows(200))
    return lambda: frame.to_json()


@_use("duckdb", "execute, six parameters")
def _execute(duckdb: Any) -> Task:
    connection = duckdb.connect()
    parameters = list(_row(1).values())
    return lambda: connection.execute("select ?, ?, ?, ?, ?, ?", parameters)


@_use("joblib", "hash, 200 rows")
def _hash(joblib: Any) -> Task:
    given = rows(200)
    return lambda: joblib.hash(given)


@_use("mashumaro", "to_json of a dataclass, orjson")
def _mashumaro(_: Any) -> Task:
    mixin = importlib.import_module("mashumaro.mixins.orjson").DataClassORJSONMixin
    kind: Any = dataclasses.make_dataclass("Row", [("id", int), ("name", str)], bases=(mixin,))
    row = kind(1, "name")
    return lambda: row.to_json()


@_use("jsonschema_rs", "is_valid, 200 rows")
def _is_valid(jsonschema_rs: Any) -> Task:
    row = {"type": "object", "required": ["id", "name"]}
    validator, given = jsonschema_rs.validator_for({"items": row}), rows(200)
    return lambda: validator.is_valid(given)


@_use("pycrdt", "an entry of a map, one row")
def _entry(pycrdt: Any) -> Task:
    document, row = pycrdt.Doc(), _row(1)
    entries = document.get("rows", type=pycrdt.Map)

    def assign() -> None:
        entries["row"] = row

    return assign


@_use("lru", "update, one row")
def _lru(lru: Any) -> Task:
    cache, row = lru.LRU(10), _row(1)
    return lambda: cache.update(row)


@_use("xml.etree", "tostring, 200 elements")
def _tostring(_: Any) -> Task:
    root = ElementTree.Element("rows")
    for row in rows(200):
        ElementTree.SubElement(root, "row", {name: str(value) for name, value in row.items()})
    return lambda: ElementTree.tostring(root)


@_use("xml.etree", "TreeBuilder.start")
def _start(_: Any) -> Task:
    attributes = {name: str(value) for name, value in _row(1).items()}

    def build() -> None:
        builder = ElementTree.TreeBuilder()
        builder.start("row", attributes)
        builder.end("row")

    return build


UVICORN = ("fastapi", "a request to uvicorn, response_model of 200 rows")
USES = (*_USES, UVICORN)
"""The libraries with an adapter, and a use of each."""


def installed_uses() -> list[tuple[str, str]]:
    """Return those of :data:`USES` whose library is installed."""
    return [
        use
        for use in USES
        if importlib.util.find_spec("uvicorn" if use == UVICORN else use[0].partition(".")[0])
    ]


def entities(count: int) -> list[LazyEntity]:
    """Return entities of which nothing was read."""
    entity = Entity(Key("Row", 1, project="bench"))
    entity.update(_row(1))
    raw = helpers.entity_to_protobuf(entity)._pb.SerializeToString()
    return [LazyEntity.from_bytes(raw) for _ in range(count)]


def measure(library: str, use: str, budget: Budget) -> AdapterCost:
    """Time one of :data:`USES` without adapters, next to the same with all of them.

    Raises:
        ImportError: the library is not installed.
    """
    if (library, use) == UVICORN:
        none, one, many = (adapter_service.measure(alive, budget) for alive in (0, 1, MANY))
        return AdapterCost(library, use, *none, one[2], many[2])
    with installed():
        task = _USES[library, use]()
    ratios = []
    for alive in (0, 1, MANY):
        kept = entities(alive)
        timed = interleave(
            {"stock": task, "adapted": task},
            budget,
            {"stock": removed, "adapted": installed},
            # Of all threads; other processes of the machine do not count.
            time.process_time,
            # The adapters come before each sample with them, but not go before each one without.
            AFTER_CHANGE,
        )
        stock, adapted = timed["stock"].seconds, timed["adapted"].seconds
        if not alive:
            times = (
                summarize(scaled(stock, MICROSECONDS)),
                paired_difference(adapted, stock, MICROSECONDS),
            )
        ratios.append(paired_ratio(adapted, stock))
        # Nothing read them: they are undecoded.
        assert all(len(entity._undecoded()) == len(entity) for entity in kept)
    return AdapterCost(library, use, *times, *ratios)
