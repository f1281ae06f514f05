"""Uses of libraries for tables and schemas, and of caches and other containers."""

from __future__ import annotations

import functools
import io
import json
from collections.abc import Callable
from typing import Any

from tests.adapters.uses import TABULAR, Uses, lib
from tests.support.strategies.samples import serialise


def _polars(value: Any) -> Any:
    return value.to_dicts(), str(value.schema), value.null_count().to_dicts(), value.count().row(0)


def _frame(*args: Any, **options: Any) -> Any:
    return _polars(lib.polars.DataFrame(*args, **options))


def _series(value: Any) -> Any:
    series = lib.polars.Series("name", value)
    return series.to_list(), str(series.dtype), series.null_count()


def _arrow(name: str, value: Any, **options: Any) -> Any:
    made = getattr(lib.pyarrow, name)(value, **options)
    return made.to_pylist(), str(made.type)


def _arrow_table(method: str, value: Any) -> Any:
    table = getattr(lib.pyarrow.Table, method)(value)
    return table.to_pylist(), str(table.schema.types)


def _arrow_typed(entity: Any) -> Any:
    pa = lib.pyarrow
    inner = pa.struct([("deep", pa.string())])
    schema = pa.schema([("text", pa.string()), ("inner", inner), ("missing", pa.int64())])
    return pa.Table.from_pylist([entity, entity], schema=schema).to_pylist()


def _parquet(frame: Any) -> Any:
    pd = lib.pandas
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return str(pd.read_parquet(io.BytesIO(buffer.getvalue())).to_dict())


def _cells(entity: Any) -> Any:
    return lib.pandas.DataFrame({"cell": [entity, entity]})


def _rows(entity: Any) -> Any:
    return lib.pandas.DataFrame([entity, entity]).drop(columns=["empty"])


def _pandas_json(value: Any, **options: Any) -> Any:
    return json.loads(value.to_json(**options))


def _unknown(_: Any) -> str:
    return "unknown"


@functools.cache
def _connection() -> Any:
    """Return a database of the process; making another one takes longer than any use."""
    return lib.duckdb.connect()


def _fetched(statement: str, parameters: Any) -> str:
    return str(_connection().execute(statement, parameters).fetchall())


def _executed(statement: str, parameters: Any) -> str:
    return str(lib.duckdb.execute(statement, parameters).fetchall())


def _queried(frame: Any) -> str:
    _connection().register("frame", frame)
    try:
        return str(_connection().execute("select * from frame").fetchall())
    finally:
        _connection().unregister("frame")


def _lru(entity: Any) -> Any:
    cache = lib.lru.LRU(20)
    cache.update(entity)
    return sorted(map(str, cache.items())), isinstance(cache, lib.lru.LRU)


def _map(entity: Any) -> Any:
    made = lib.immutables.Map(entity)
    return type(made).__name__, sorted(map(str, made.items()))


SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "inner": {"required": ["deep", "missing"]}},
}


def _errors(found: Any) -> list[str]:
    return sorted(each.message for each in found)


_REFERENCE = {"$ref": "https://host/name"}


def _registered(entity: Any) -> Any:
    registry = lib.jsonschema_rs.Registry([("https://host/name", {"const": entity})])
    return lib.jsonschema_rs.validator_for(_REFERENCE, registry=registry).is_valid(entity)


def _schema(function: str, entity: Any) -> Any:
    """Use the entity as a part of a schema, for a function that takes nothing else."""
    made = getattr(lib.jsonschema_rs, function)({"const": entity})
    return made.is_valid(entity) if function.endswith("Validator") else str(_sorted(made))


def _validator(schema: Any, method: str, entity: Any) -> Any:
    return getattr(lib.jsonschema_rs.validator_for(schema), method)(entity)


def _sorted(value: Any) -> Any:
    """Return a value with its dicts in the order of their keys, which Rust has at random."""
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return list(map(_sorted, value)) if isinstance(value, (list, tuple)) else value


def _shared(kind: str, change: Callable[[Any], object]) -> Any:
    """Return the contents of a shared document after a change."""
    document = lib.pycrdt.Doc()
    document["shared"] = shared = getattr(lib.pycrdt, kind)()
    change(shared)
    return _sorted(shared.diff() if kind == "Text" else shared.to_py())


def _made(kind: str, content: Any) -> Any:
    document = lib.pycrdt.Doc()
    document["shared"] = shared = getattr(lib.pycrdt, kind)(content)
    return _sorted(shared.to_py())


def _formatted(entity: Any) -> Any:
    def change(text: Any) -> None:
        text += "a text"
        text.format(0, 1, entity)

    return _shared("Text", change)


def _xml_attribute(entity: Any) -> bool:
    """Whether an attribute has the text of the value, whose order is random."""
    pycrdt = lib.pycrdt
    pycrdt.Doc()["shared"] = fragment = pycrdt.XmlFragment()
    fragment.children.append(pycrdt.XmlElement("element")).attributes["name"] = entity
    return "number: 42" in str(fragment)


def _xml(entity: Any) -> Any:
    pycrdt = lib.pycrdt
    document = pycrdt.Doc()
    document["shared"] = fragment = pycrdt.XmlFragment()
    text = fragment.children.append(pycrdt.XmlText("a text"))
    text.insert(0, "more", entity)
    text.format(0, 2, {"number": entity["number"]})
    text.insert_embed(0, entity)
    return _sorted(text.diff())


USES = (
    Uses(
        "polars",
        {
            "rows": lambda e: _frame([e, e]),
            "rows with schema": lambda e: _frame([e], schema=["text", "number"]),
            "column": lambda e: _frame({"column": [e, None]}),
            "columns": lambda e: _frame({"text": [e["text"]], "inner": [e]}),
            "array": lambda e: _frame({"c": lib.numpy.array([e, e], dtype=object)}),
            "from_dicts": lambda e: _polars(lib.polars.from_dicts([e, e])),
            "from_records": lambda e: _polars(lib.polars.from_records([e, e])),
            "from_dict": lambda e: _polars(lib.polars.from_dict({"x": [e]})),
            "LazyFrame": lambda e: _polars(lib.polars.LazyFrame([e]).collect()),
            "lit": lambda e: _polars(lib.polars.select(lib.polars.lit(e))),
            "json_normalize": lambda e: _polars(lib.polars.json_normalize([e])),
            "Series": lambda e: _series([e, None]),
            "Series of values": lambda e: _series([e["inner"]]),
            "generator": lambda e: _series(each for each in (e, e)),
        },
        raw=TABULAR,
    ),
    Uses(
        "pyarrow",
        {
            "array": lambda e: _arrow("array", [e, None]),
            "scalar": lambda e: str(lib.pyarrow.scalar(e).as_py()),
            "chunked_array": lambda e: _arrow("chunked_array", [[e], [e]]),
            "nested": lambda e: _arrow("array", [[{"e": e}]]),
            "infer_type": lambda e: str(lib.pyarrow.infer_type([e])),
            "refused": lambda e: _arrow("array", [e, 5]),
            "from_pylist": lambda e: _arrow_table("from_pylist", [e, e]),
            "from_pylist with schema": _arrow_typed,
            "from_pydict": lambda e: _arrow_table("from_pydict", {"x": [e]}),
            "table": lambda e: lib.pyarrow.table({"x": [e]}).to_pylist(),
            "from_pandas": lambda e: _arrow_table("from_pandas", _cells(e)),
            "object array": lambda e: _arrow("array", lib.numpy.array([e, e], dtype=object)),
        },
        raw=TABULAR,
    ),
    Uses(
        "pandas",
        {
            "to_json of cells": lambda e: _pandas_json(_cells(e)),
            "to_json of rows": lambda e: _pandas_json(_rows(e), orient="records"),
            "to_json of a series": lambda e: _pandas_json(lib.pandas.Series([e])),
            "to_json with a handler": lambda e: _pandas_json(_cells(e), default_handler=_unknown),
            "to_json lines": lambda e: _cells(e).to_json(orient="records", lines=True),
        },
        raw=TABULAR,
    ),
    Uses(
        "pyarrow",
        {
            "to_parquet of cells": lambda e: _parquet(_cells(e)),
            "to_parquet of rows": lambda e: _parquet(_rows(e)),
        },
        module="pandas.io.parquet",
        raw=TABULAR,
    ),
    Uses(
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
        {
            "hash": lambda e: lib.joblib.hash(e),
            "hash of a list": lambda e: lib.joblib.hash([e, {"e": e}, e["inner"]]),
            "hash of parts": lambda e: lib.joblib.hash((e["list"], e.key)),
        },
        raw=TABULAR,
    ),
    Uses(
        "immutables",
        {"Map": _map, "Map of keywords": lambda e: sorted(map(str, lib.immutables.Map(**e)))},
    ),
    Uses("lru-dict", {"update": _lru}, module="lru"),
    Uses(
        "jsonschema-rs",
        {
            "is_valid": lambda e: lib.jsonschema_rs.is_valid(SCHEMA, e),
            "validate": lambda e: lib.jsonschema_rs.validate(SCHEMA, {"e": [e]}),
            "validate, refused": lambda e: lib.jsonschema_rs.validate(SCHEMA, [e]),
            "iter_errors": lambda e: _errors(lib.jsonschema_rs.iter_errors(SCHEMA, e)),
            "evaluate": lambda e: lib.jsonschema_rs.evaluate(SCHEMA, e).valid,
            "schema": lambda e: lib.jsonschema_rs.is_valid({"const": e}, e),
            "schema that is retrieved": lambda e: lib.jsonschema_rs.is_valid(
                _REFERENCE, {}, retriever=lambda _: {"const": e}
            ),
            "Registry": _registered,
            **{
                name: functools.partial(_schema, name)
                for name in (
                    *(f"Draft{draft}Validator" for draft in (4, 6, 7, 201909, 202012)),
                    *("bundle", "dereference", "canonicalize"),
                )
            },
            "validator_map_for": lambda e: len(lib.jsonschema_rs.validator_map_for({"const": e})),
            "canonical JSON": lambda e: lib.jsonschema_rs.canonical.json.to_string(e),
            "meta.validate": lambda e: lib.jsonschema_rs.meta.validate({"type": e}),
            "validator_for": lambda e: _validator({"const": e}, "is_valid", e),
            "Validator.is_valid": lambda e: _validator(SCHEMA, "is_valid", [e]),
            "Validator.validate": lambda e: _validator({}, "validate", [e]),
            "Validator.iter_errors": lambda e: _errors(_validator(SCHEMA, "iter_errors", e)),
            "Validator.evaluate": lambda e: _validator(SCHEMA, "evaluate", e).valid,
        },
    ),
    Uses(
        "jsonschema-rs",
        {
            "validator_cls_for": lambda e: lib.jsonschema_rs.validator_cls_for(e).__name__,
            "meta.is_valid": lambda e: lib.jsonschema_rs.meta.is_valid(e),
        },
        raw=serialise({"$schema": "http://json-schema.org/draft-04/schema#", "text": "words"}),
    ),
    Uses(
        "pycrdt",
        {
            "Map": lambda e: _made("Map", e),
            "Map of entities": lambda e: _made("Map", {"e": [e]}),
            "Map, item": lambda e: _shared("Map", lambda shared: shared.__setitem__("e", e)),
            "Map, update": lambda e: _shared("Map", lambda shared: shared.update(e)),
            "Array": lambda e: _made("Array", [e, [e]]),
            "Array, append": lambda e: _shared("Array", lambda shared: shared.append(e)),
            "Array, item": lambda e: _shared("Array", lambda shared: shared.extend([e, e])),
            "Text, embed": lambda e: _shared("Text", lambda shared: shared.insert_embed(0, e)),
            "Text, insert": lambda e: _shared("Text", lambda shared: shared.insert(0, "a", e)),
            "Text, format": _formatted,
            "XmlText": _xml,
            "XmlElement": _xml_attribute,
        },
    ),
)
