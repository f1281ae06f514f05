"""The cost of the adapters to calls that no entity is in, one line for each use of a library.

One use is a request to FastAPI behind uvicorn: two services, one without adapters, answer in turns.
``python -m lazyentity.bench.subjects.adapter_costs SIDE ALIVE`` runs one of them, and prints its
port.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import importlib.util
import socket
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pydantic
from google.cloud.datastore import Entity, Key, helpers

from lazyentity import LazyEntity
from lazyentity.bench.harness import processes
from lazyentity.bench.harness.lines import AdapterCost
from lazyentity.bench.harness.stats import paired_difference, paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import AFTER_CHANGE, MICROSECONDS, Budget, Task, interleave
from lazyentity.bench.subjects.adapted import installed, listed, removed, request_of

MANY = 10_000
"""Entities alive elsewhere, as in a cache."""

_HELD_ROWS = 14_000
_HELD_DICTS = 20_000

# The paths of a service, and the requests that are sent to it before it is the other's turn.
_ROWS, _CPU = "/", "/cpu"
_REQUESTS = 20

_ROWS_GIVEN = "given = rows()"
_ADAPTER_GIVEN = "adapter = pydantic.TypeAdapter(listed(row_model())); given = rows()"
_MODELS_GIVEN = f"{_ADAPTER_GIVEN}; given = adapter.validate_python(given)"
_NAMES_GIVEN = "given = [row['name'] for row in rows()]"


def _row(number: int = 1) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"name {number}",
        "ratio": number / 2,
        "is_new": number % 2 == 0,
        "city": "Bern",
        "note": None,
    }


def rows(count: int = 200) -> list[dict[str, Any]]:
    """Return dicts of six scalars."""
    return [_row(number) for number in range(count)]


def _texts(row: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in row.items()}


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


def _app() -> Any:
    """Make an application that answers with rows, and with the CPU time of its process."""
    fastapi = importlib.import_module("fastapi")
    app, given = fastapi.FastAPI(), rows()

    @app.get(_ROWS, response_model=listed(row_model()))  # type: ignore[untyped-decorator]  # any
    async def read() -> Any:
        return given

    @app.get(_CPU)  # type: ignore[untyped-decorator]  # any
    async def cpu() -> float:
        return time.process_time()

    return app


def _requests() -> Task:
    request, runner = request_of(_app()), asyncio.Runner()
    return lambda: runner.run(request())


def _service_with_dicts() -> Any:
    class Service:
        def __init__(self) -> None:
            self.rows = rows(_HELD_DICTS)

        @pydantic.validate_call
        def add(self, number: int) -> int:
            return number + 1

    return Service()


# By library and name, a preparation and the statement to time. The statement finds the functions
# of the library at each call, as an adapter may replace them.
_STATEMENTS: dict[tuple[str, str], tuple[str, str]] = {
    ("pydantic", "a model of one row"): ("model, given = row_model(), row()", "model(**given)"),
    ("pydantic", "validate_python, one row"): (
        "adapter, given = pydantic.TypeAdapter(row_model()), row()",
        "adapter.validate_python(given)",
    ),
    ("pydantic", "validate_python, 200 rows"): (_ADAPTER_GIVEN, "adapter.validate_python(given)"),
    ("pydantic", "validate_python, 200 models"): (_MODELS_GIVEN, "adapter.validate_python(given)"),
    ("pydantic", "dump_json, 200 models"): (_MODELS_GIVEN, "adapter.dump_json(given)"),
    ("pydantic", "model_dump"): ("model = row_model()(**row())", "model.model_dump()"),
    ("pydantic", f"from_attributes of an object with {_HELD_ROWS:,} rows"): (
        "model, held = row_model(), type('Held', (), {})(); "
        f"vars(held).update(row(), rows=rows({_HELD_ROWS}))",
        "model.model_validate(held)",
    ),
    ("pydantic", f"validate_call of a method, {_HELD_DICTS:,} dicts in its object"): (
        "service = service_with_dicts()",
        "service.add(1)",
    ),
    ("fastapi", "a request, response_model of 200 rows"): ("request = requests()", "request()"),
    ("sqlmodel", "a model of one row"): (
        "types = {'id': int, 'name': str, 'ratio': float, 'city': str}; "
        "names = {'__module__': __name__, '__annotations__': types}; "
        "model = type('Row', (sqlmodel.SQLModel,), names); "
        "given = {name: row()[name] for name in types}",
        "model(**given)",
    ),
    ("orjson", "dumps, one row"): ("given = row()", "orjson.dumps(given)"),
    ("orjson", "dumps, 200 rows, default="): (_ROWS_GIVEN, "orjson.dumps(given, default=str)"),
    ("msgspec", "encode, 200 rows"): (_ROWS_GIVEN, "msgspec.json.encode(given)"),
    ("msgspec", "convert, 200 rows"): (
        "given, kind = rows(), list[dict[str, object]]",
        "msgspec.convert(given, type=kind)",
    ),
    ("ujson", "dumps, 200 rows"): (_ROWS_GIVEN, "ujson.dumps(given)"),
    ("rapidjson", "dumps, 200 rows, default="): (
        _ROWS_GIVEN,
        "rapidjson.dumps(given, default=str)",
    ),
    ("ormsgpack", "packb, 200 rows, default="): (
        _ROWS_GIVEN,
        "ormsgpack.packb(given, default=str)",
    ),
    ("cbor2", "dumps, 200 rows"): (_ROWS_GIVEN, "cbor2.dumps(given)"),
    ("bson", "encode, 200 rows"): ("given = {'rows': rows()}", "bson.encode(given)"),
    ("polars", "DataFrame, 100 rows with a list in each"): (
        "given = [{**row, 'tags': ['a', 'b']} for row in rows(100)]",
        "polars.DataFrame(given)",
    ),
    ("polars", "DataFrame, columns of 200 rows"): (
        "given = {name: [row[name] for row in rows()] for name in row()}",
        "polars.DataFrame(given)",
    ),
    ("polars", "Series, 200 strings"): (_NAMES_GIVEN, "polars.Series(given)"),
    ("pyarrow", "array, 200 strings"): (_NAMES_GIVEN, "pyarrow.array(given)"),
    ("pyarrow", "Table.from_pylist, 200 rows"): (_ROWS_GIVEN, "pyarrow.Table.from_pylist(given)"),
    ("immutables", "Map, one row"): ("given = row()", "immutables.Map(given)"),
    ("pandas", "to_json, 200 rows"): ("frame = pandas.DataFrame(rows())", "frame.to_json()"),
    ("duckdb", "execute, six parameters"): (
        "connection, given = duckdb.connect(), list(row().values())",
        "connection.execute('select ?, ?, ?, ?, ?, ?', given)",
    ),
    ("joblib", "hash, 200 rows"): (_ROWS_GIVEN, "joblib.hash(given)"),
    ("mashumaro", "to_json of a dataclass, orjson"): (
        "from mashumaro.mixins.orjson import DataClassORJSONMixin as mixin; "
        "from dataclasses import make_dataclass; "
        "given = make_dataclass('Row', [('id', int), ('name', str)], bases=(mixin,))(1, 'name')",
        "given.to_json()",
    ),
    ("jsonschema_rs", "is_valid, 200 rows"): (
        "item = {'type': 'object', 'required': ['id', 'name']}; "
        "validator, given = jsonschema_rs.validator_for({'items': item}), rows()",
        "validator.is_valid(given)",
    ),
    ("pycrdt", "an entry of a map, one row"): (
        "document = pycrdt.Doc(); entries = document.get('rows', type=pycrdt.Map); given = row()",
        "entries.__setitem__('row', given)",
    ),
    ("lru", "update, one row"): ("cache, given = lru.LRU(10), row()", "cache.update(given)"),
    ("xml.etree", "tostring, 200 elements"): (
        "from xml.etree import ElementTree; root = ElementTree.Element('rows')\n"
        "for each in rows(): ElementTree.SubElement(root, 'row', texts(each))",
        "ElementTree.tostring(root)",
    ),
    ("xml.etree", "TreeBuilder.start"): (
        "from xml.etree import ElementTree; given = texts(row())",
        "[(made := ElementTree.TreeBuilder()).start('row', given), made.end('row')]",
    ),
}

UVICORN = ("fastapi", "a request to uvicorn, response_model of 200 rows")
USES = (*_STATEMENTS, UVICORN)
"""The libraries with an adapter, and a use of each."""


def _task(library: str, use: str) -> Task:
    prepare, statement = _STATEMENTS[library, use]
    scope: dict[str, Any] = {
        "__name__": __name__,
        "row": _row,
        "rows": rows,
        "texts": _texts,
        "row_model": row_model,
        "listed": listed,
        "requests": _requests,
        "service_with_dicts": _service_with_dicts,
    }
    exec(f"import {library}\n{prepare}", scope)  # noqa: S102  # of the table above
    task: Task = eval(f"lambda: {statement}", scope)  # noqa: S307  # of the table above
    return task


def installed_uses() -> list[tuple[str, str]]:
    """Return the :data:`USES` whose library is installed."""
    return [
        use
        for use in USES
        if importlib.util.find_spec("uvicorn" if use == UVICORN else use[0].partition(".")[0])
    ]


def entities(count: int) -> list[LazyEntity]:
    """Return entities of which nothing was read."""
    entity = Entity(Key("Row", 1, project="bench"))
    entity.update(_row())
    raw = helpers.entity_to_protobuf(entity)._pb.SerializeToString()
    return [LazyEntity.from_bytes(raw) for _ in range(count)]


def measure(library: str, use: str, budget: Budget) -> AdapterCost:
    """Time one of :data:`USES` without adapters, next to the same with all of them.

    Raises:
        ImportError: the library is not installed.
    """
    samples = _samples_of_services if (library, use) == UVICORN else _samples
    none, *others = (samples(library, use, alive, budget) for alive in (0, 1, MANY))
    return AdapterCost(
        library,
        use,
        summarize(scaled(none[0], MICROSECONDS)),
        paired_difference(none[1], none[0], MICROSECONDS),
        *(paired_ratio(adapted, stock) for stock, adapted in (none, *others)),
    )


_Samples = tuple[list[float], list[float]]
"""The seconds of CPU time without adapters, and with all of them."""


def _samples(library: str, use: str, alive: int, budget: Budget) -> _Samples:
    with installed():
        task = _task(library, use)
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
    # Nothing read them: they are undecoded.
    assert all(len(entity._undecoded()) == len(entity) for entity in kept)
    return timed["stock"].seconds, timed["adapted"].seconds


def _samples_of_services(_library: str, _use: str, alive: int, budget: Budget) -> _Samples:
    stock: list[float] = []
    adapted: list[float] = []
    with _service("stock", alive) as of_stock, _service("adapted", alive) as of_adapted:
        of_stock(), of_adapted()
        deadline = time.perf_counter() + budget.seconds
        while len(stock) < budget.min_rounds or time.perf_counter() < deadline:
            stock.append(of_stock())
            adapted.append(of_adapted())
    return stock, adapted


@contextlib.contextmanager
def _service(side: str, alive: int) -> Iterator[Callable[[], float]]:
    """Run a service; yields a function that makes requests, and returns the CPU seconds of each."""
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


def _serve(side: str, alive: int) -> None:
    import uvicorn

    with installed() if side == "adapted" else contextlib.nullcontext():
        app, kept = _app(), entities(alive)
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            sys.stdout.write(f"{listening.getsockname()[1]}\n")
            sys.stdout.flush()
            config = uvicorn.Config(app, log_level="critical", lifespan="off")
            uvicorn.Server(config).run(sockets=[listening])
        del kept


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
