"""Uses of libraries for tables, and of caches and other containers."""

from __future__ import annotations

import functools
import io
import json
from typing import Any

from tests.adapters.uses import TABULAR, Uses, module


def _polars(value: Any) -> Any:
    return value.to_dicts(), str(value.schema), value.null_count().to_dicts(), value.count().row(0)


def _frame(*args: Any, **options: Any) -> Any:
    return _polars(module("polars").DataFrame(*args, **options))


def _series(value: Any) -> Any:
    series = module("polars").Series("name", value)
    return series.to_list(), str(series.dtype), series.null_count()


def _arrow(name: str, value: Any, **options: Any) -> Any:
    made = getattr(module("pyarrow"), name)(value, **options)
    return made.to_pylist(), str(made.type)


def _arrow_table(method: str, value: Any) -> Any:
    table = getattr(module("pyarrow").Table, method)(value)
    return table.to_pylist(), str(table.schema.types)


def _arrow_typed(entity: Any) -> Any:
    pa = module("pyarrow")
    inner = pa.struct([("deep", pa.string())])
    schema = pa.schema([("text", pa.string()), ("inner", inner), ("missing", pa.int64())])
    return pa.Table.from_pylist([entity, entity], schema=schema).to_pylist()


def _parquet(frame: Any) -> Any:
    pd = module("pandas")
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return str(pd.read_parquet(io.BytesIO(buffer.getvalue())).to_dict())


def _cells(entity: Any) -> Any:
    return module("pandas").DataFrame({"cell": [entity, entity]})


def _rows(entity: Any) -> Any:
    return module("pandas").DataFrame([entity, entity]).drop(columns=["empty"])


def _pandas_json(value: Any, **options: Any) -> Any:
    return json.loads(value.to_json(**options))


def _unknown(_: Any) -> str:
    return "unknown"


@functools.cache
def _connection() -> Any:
    """Return a database of the process; making another one takes longer than any use."""
    return module("duckdb").connect()


def _fetched(statement: str, parameters: Any) -> str:
    return str(_connection().execute(statement, parameters).fetchall())


def _executed(statement: str, parameters: Any) -> str:
    return str(module("duckdb").execute(statement, parameters).fetchall())


def _queried(frame: Any) -> str:
    _connection().register("frame", frame)
    try:
        return str(_connection().execute("select * from frame").fetchall())
    finally:
        _connection().unregister("frame")


def _lru(entity: Any) -> Any:
    cache = module("lru").LRU(20)
    cache.update(entity)
    return sorted(map(str, cache.items())), isinstance(cache, module("lru").LRU)


def _map(entity: Any) -> Any:
    made = module("immutables").Map(entity)
    return type(made).__name__, sorted(map(str, made.items()))


USES = (
    Uses(
        "polars",
        "polars",
        {
            "rows": lambda e: _frame([e, e]),
            "rows with schema": lambda e: _frame([e], schema=["text", "number"]),
            "column": lambda e: _frame({"column": [e, None]}),
            "columns": lambda e: _frame({"text": [e["text"]], "inner": [e]}),
            "array": lambda e: _frame({"c": module("numpy").array([e, e], dtype=object)}),
            "from_dicts": lambda e: _polars(module("polars").from_dicts([e, e])),
            "from_records": lambda e: _polars(module("polars").from_records([e, e])),
            "from_dict": lambda e: _polars(module("polars").from_dict({"x": [e]})),
            "LazyFrame": lambda e: _polars(module("polars").LazyFrame([e]).collect()),
            "lit": lambda e: _polars(module("polars").select(module("polars").lit(e))),
            "json_normalize": lambda e: _polars(module("polars").json_normalize([e])),
            "Series": lambda e: _series([e, None]),
            "Series of values": lambda e: _series([e["inner"]]),
            "generator": lambda e: _series(each for each in (e, e)),
        },
        raw=TABULAR,
    ),
    Uses(
        "pyarrow",
        "pyarrow",
        {
            "array": lambda e: _arrow("array", [e, None]),
            "scalar": lambda e: str(module("pyarrow").scalar(e).as_py()),
            "chunked_array": lambda e: _arrow("chunked_array", [[e], [e]]),
            "nested": lambda e: _arrow("array", [[{"e": e}]]),
            "infer_type": lambda e: str(module("pyarrow").infer_type([e])),
            "refused": lambda e: _arrow("array", [e, 5]),
            "from_pylist": lambda e: _arrow_table("from_pylist", [e, e]),
            "from_pylist with schema": _arrow_typed,
            "from_pydict": lambda e: _arrow_table("from_pydict", {"x": [e]}),
            "table": lambda e: module("pyarrow").table({"x": [e]}).to_pylist(),
            "from_pandas": lambda e: _arrow_table("from_pandas", _cells(e)),
            "object array": lambda e: _arrow("array", module("numpy").array([e, e], dtype=object)),
        },
        raw=TABULAR,
    ),
    Uses(
        "pandas",
        "pandas",
        {
            "to_json of cells": lambda e: _pandas_json(_cells(e)),
            "to_json of rows": lambda e: _pandas_json(_rows(e), orient="records"),
            "to_json of a series": lambda e: _pandas_json(module("pandas").Series([e])),
            "to_json with a handler": lambda e: _pandas_json(_cells(e), default_handler=_unknown),
            "to_json lines": lambda e: _cells(e).to_json(orient="records", lines=True),
        },
        raw=TABULAR,
    ),
    Uses(
        "pyarrow",
        "pandas.io.parquet",
        {
            "to_parquet of cells": lambda e: _parquet(_cells(e)),
            "to_parquet of rows": lambda e: _parquet(_rows(e)),
        },
        raw=TABULAR,
    ),
    Uses(
        "duckdb",
        "duckdb",
        {
            "named": lambda e: _fetched("select $text, $number", e),
            "positional": lambda e: _fetched("select ?", [e]),
            "in a list": lambda e: _fetched("select ?", [[e["inner"]]]),
            "in a dict": lambda e: _executed("select $e", {"e": e}),
            "module": lambda e: _executed("select ?", [e]),
            "frame": lambda e: _queried(_rows(e)),
            "frame of cells": lambda e: _queried(_cells(e)),
        },
        raw=TABULAR,
    ),
    Uses(
        "joblib",
        "joblib",
        {
            "hash": lambda e: module("joblib").hash(e),
            "hash of a list": lambda e: module("joblib").hash([e, {"e": e}, e["inner"]]),
            "hash of parts": lambda e: module("joblib").hash((e["list"], e.key)),
        },
        raw=TABULAR,
    ),
    Uses(
        "immutables",
        "immutables",
        {"Map": _map, "Map of keywords": lambda e: sorted(map(str, module("immutables").Map(**e)))},
    ),
    Uses("lru-dict", "lru", {"update": _lru}),
)
