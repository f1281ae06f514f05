"""How applications use libraries with entities: the table that the tests and the docs share.

python -m tests.adapters.uses  # writes the table in docs/adapters.rst
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import importlib.util
import io
import json
import os
import pickle
import subprocess
import sys
import textwrap
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from tests.support.strategies.samples import serialise

RAW = serialise(
    {
        "text": "Grüße",
        "number": 42,
        "list": [1, 2],
        "inner": {"deep": "value"},
        "inners": [{"deep": "one", "yes": True}, {"deep": "two", "yes": False}],
    }
)
TEXTS = serialise({"text": "Grüße", "other": "words"})

PAGE = Path(__file__).parents[2] / "docs" / "adapters.rst"
START, END = ".. verdicts-start", ".. verdicts-end"


class _Libraries:
    """Has each library, which need not be installed on every version of Python, as an attribute."""

    def __getattr__(self, name: str) -> Any:
        return importlib.import_module(name)


lib: Any = _Libraries()
HOOKS = ("default", "json hook")
"""Uses with a function of the application that accepts any object, the sentinel too."""

OTHER = SimpleNamespace()
"""An object that no encoder knows."""


def unknown(_: Any) -> str:
    """Stand for an object that an encoder does not know."""
    return "unknown"


@dataclasses.dataclass
class Holder:
    """A dataclass that holds anything."""

    held: Any
    several: list[Any]


class Uses(NamedTuple):
    """How applications use a library.

    Attributes:
        module: of the library.
        uses: by name. Each takes an entity and returns what the library made of it.
        raw: the serialised entity that they are given.
    """

    module: str
    uses: dict[str, Callable[[Any], Any]]
    raw: bytes = RAW

    def is_installed(self) -> bool:
        """Say whether the library is installed."""
        return importlib.util.find_spec(self.module.partition(".")[0]) is not None


def _sorted(value: Any) -> Any:
    """Return a value with its dicts in the order of their keys, which Rust has at random."""
    if isinstance(value, dict):
        return {str(name): _sorted(value[name]) for name in sorted(value, key=str)}
    return list(map(_sorted, value)) if isinstance(value, (list, tuple)) else value


def _pairs(pairs: Any) -> list[str]:
    return sorted(map(str, pairs))


def _json(dumps: Callable[..., Any]) -> dict[str, Any]:
    return {
        "entity": lambda e: json.loads(dumps(e)),
        "list": lambda e: json.loads(dumps([e, {"a": [{"b": (e,)}]}])),
        "value": lambda e: json.loads(dumps(e["inner"])),
        "default": lambda e: json.loads(dumps({"e": e, "o": OTHER}, default=unknown)),
        "refused": lambda e: dumps([e, OTHER]),
        "in a dict subclass": lambda e: json.loads(dumps(OrderedDict(e=e))),
    }


def _dataclass(entity: Any) -> bytes:
    made: bytes = lib.orjson.dumps(Holder(entity, [entity]))
    return made


def _struct(entity: Any) -> Any:
    struct = lib.msgspec.defstruct("Held", ["held", "others"])
    return json.loads(lib.msgspec.json.encode(struct(entity, [entity])))


def _converted(kind: Any) -> Callable[[Any], Any]:
    return lambda entity: lib.msgspec.convert(entity, kind)


def _typed(entity: Any) -> Any:
    struct = lib.msgspec.defstruct("Some", [("text", str), ("inner", dict[str, str])])
    return lib.msgspec.to_builtins(lib.msgspec.convert(entity, struct))


def _model(kind: Callable[[], Any]) -> Callable[[Any], Any]:
    """Return a use of pydantic: a field of this type, and the model dumped in both ways."""

    def use(entity: Any) -> Any:
        made = lib.pydantic.create_model("Made", field=(kind(), ...))
        model = made(field=entity)
        return json.loads(model.model_dump_json()), model.model_dump()

    return use


def _with_validator(entity: Any) -> Any:
    kind = importlib.import_module("typing").Annotated[
        Any, lib.pydantic.WrapValidator(lambda value, handler: dict(handler(value)))
    ]
    return lib.pydantic.TypeAdapter(kind).validate_python(entity)


def _assigned(entity: Any) -> Any:
    config = lib.pydantic.ConfigDict(validate_assignment=True)
    made = lib.pydantic.create_model("Made", __config__=config, field=(dict[str, Any], ...))
    model = made(field={})
    model.field = entity
    return model.model_dump()


def _table_model(entity: Any) -> Any:
    sqlmodel = lib.sqlmodel
    space = {
        "__module__": __name__,
        "__annotations__": {"id": int, "data": dict},
        "id": sqlmodel.Field(primary_key=True),
        "data": sqlmodel.Field(sa_type=sqlmodel.JSON),
    }
    registry = lib.sqlalchemy.orm.registry()
    made = type(sqlmodel.SQLModel)("Made", (sqlmodel.SQLModel,), space, registry=registry)
    return made(id=1, data=entity).model_dump()


def _polars(frame: Any) -> Any:
    return frame.to_dicts(), str(frame.schema), frame.null_count().to_dicts()


def _series(value: Any) -> Any:
    series = lib.polars.Series("name", value)
    return series.to_list(), str(series.dtype), series.null_count()


def _array(made: Any) -> Any:
    return made.to_pylist(), str(made.type)


def _cells(entity: Any) -> Any:
    return lib.pandas.DataFrame({"cell": [entity, entity]})


def _parquet(entity: Any) -> Any:
    buffer = io.BytesIO()
    _cells(entity).to_parquet(buffer)
    return str(lib.pandas.read_parquet(io.BytesIO(buffer.getvalue())).to_dict())


def _fetched(call: Callable[..., Any], statement: str, parameters: Any) -> str:
    return str(call(statement, parameters).fetchall())


def _shared(kind: str, change: Callable[[Any], object]) -> Any:
    """Return the contents of a shared document of pycrdt after a change."""
    document = lib.pycrdt.Doc()
    document["shared"] = shared = getattr(lib.pycrdt, kind)()
    change(shared)
    return _sorted(shared.diff() if kind == "Text" else shared.to_py())


def _lru(entity: Any) -> Any:
    cache = lib.lru.LRU(20)
    cache.update(entity)
    return _pairs(cache.items())


def _builder(entity: Any) -> Any:
    etree = importlib.import_module("xml.etree.ElementTree")
    builder = etree.TreeBuilder()
    builder.start("root", entity)
    builder.end("root")
    return etree.tostring(builder.close())


def _bson(value: Any, **options: Any) -> Any:
    return lib.bson.decode(lib.bson.encode(value, **options))


def _unpacked(entity: Any, **options: Any) -> Any:
    return lib.ormsgpack.unpackb(lib.ormsgpack.packb([entity], **options))


def _mashumaro(entity: Any) -> Any:
    mixin = importlib.import_module("mashumaro.mixins.orjson").DataClassORJSONMixin
    space = {"__module__": __name__, "__annotations__": {"held": Any}}
    made: Any = dataclasses.dataclass(type("Made", (mixin,), space))
    return made(entity).to_json()


def _sqlalchemy(entity: Any) -> Any:
    sa = lib.sqlalchemy
    table = sa.Table(
        "rows", sa.MetaData(), sa.Column("text", sa.String), sa.Column("data", sa.JSON)
    )
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        table.create(connection)
        connection.execute(table.insert(), [{"text": entity["text"], "data": entity}])
        rows = [tuple(row) for row in connection.execute(sa.select(table))]
    engine.dispose()
    return rows


def _marshmallow(entity: Any) -> Any:
    ma = lib.marshmallow
    inner = ma.Schema.from_dict({"deep": ma.fields.Str()})
    schema = ma.Schema.from_dict({"text": ma.fields.Str(), "inner": ma.fields.Nested(inner)})
    return schema().dump(entity), schema(unknown="exclude").load(entity)


def _avro(entity: Any) -> bytes:
    fastavro = lib.fastavro
    fields = [{"name": "text", "type": "string"}, {"name": "number", "type": "long"}]
    buffer = io.BytesIO()
    schema = fastavro.parse_schema({"type": "record", "name": "Row", "fields": fields})
    fastavro.schemaless_writer(buffer, schema, entity)
    return buffer.getvalue()


def _flask(entity: Any) -> Any:
    with lib.flask.Flask("app").app_context():
        return lib.flask.jsonify([entity]).get_json()


def _django(entity: Any) -> str:
    encoder = importlib.import_module("django.core.serializers.json").DjangoJSONEncoder
    return json.dumps(entity, cls=encoder)


def _updated(cache: Any, entity: Any) -> Any:
    cache.update(entity)
    return _pairs(cache.items())


def _made(module: str, name: str) -> Callable[[Any], Any]:
    """Return a use: a class like a dict is made of the entity."""
    return lambda entity: _pairs(getattr(importlib.import_module(module), name)(entity).items())


ADAPTED = (
    Uses(
        "pydantic",
        {
            "Any": _model(lambda: Any),
            "dict": _model(lambda: dict[str, Any]),
            "union": _model(lambda: dict[str, int] | dict[str, Any]),
            "assignment": _assigned,
            "wrap validator": _with_validator,
            "construct": lambda e: (
                lib.pydantic.create_model("M", a=Any).model_construct(a=e).model_dump_json()
            ),
            "to_json": lambda e: lib.pydantic_core.to_json([e]),
            "to_jsonable_python": lambda e: lib.pydantic_core.to_jsonable_python({"e": e}),
            "RootModel": lambda e: lib.pydantic.RootModel[dict](e).model_dump_json(),
        },
    ),
    Uses("sqlmodel", {"table": _table_model}),
    Uses(
        "orjson",
        {**_json(lambda *a, **k: lib.orjson.dumps(*a, **k)), "dataclass": _dataclass},
    ),
    Uses(
        "msgspec",
        {
            "json": lambda e: json.loads(lib.msgspec.json.encode([e])),
            "json hook": lambda e: lib.msgspec.json.encode([e, OTHER], enc_hook=unknown),
            "msgpack": lambda e: lib.msgspec.msgpack.encode([e]),
            "struct": _struct,
            "to_builtins": lambda e: lib.msgspec.to_builtins([e]),
            "convert to dict": _converted(dict[str, Any]),
            "convert to Any": _converted(Any),
            "convert to a union": _converted(dict[str, int] | dict[str, Any]),
            "convert to a struct": _typed,
        },
    ),
    Uses(
        "polars",
        {
            "rows": lambda e: _polars(lib.polars.DataFrame([e, e])),
            "column": lambda e: _polars(lib.polars.DataFrame({"column": [e, None]})),
            "object array": lambda e: _polars(
                lib.polars.DataFrame({"c": lib.numpy.array([e, e], dtype=object)})
            ),
            "from_dicts": lambda e: _polars(lib.polars.from_dicts([e, e])),
            "from_records": lambda e: _polars(lib.polars.from_records([e, e])),
            "from_dict": lambda e: _polars(lib.polars.from_dict({"x": [e]})),
            "LazyFrame": lambda e: _polars(lib.polars.LazyFrame([e]).collect()),
            "lit": lambda e: _polars(lib.polars.select(lib.polars.lit(e))),
            "Series": lambda e: _series([e, None]),
        },
    ),
    Uses(
        "pyarrow",
        {
            "array": lambda e: _array(lib.pyarrow.array([e, None])),
            "scalar": lambda e: str(lib.pyarrow.scalar(e).as_py()),
            "chunked_array": lambda e: _array(lib.pyarrow.chunked_array([[e], [e]])),
            "infer_type": lambda e: str(lib.pyarrow.infer_type([e])),
            "from_pylist": lambda e: lib.pyarrow.Table.from_pylist([e, e]).to_pylist(),
            "from_pydict": lambda e: lib.pyarrow.Table.from_pydict({"x": [e]}).to_pylist(),
            "table": lambda e: lib.pyarrow.table({"x": [e]}).to_pylist(),
            "from_pandas": lambda e: lib.pyarrow.Table.from_pandas(_cells(e)).to_pylist(),
        },
    ),
    Uses(
        "pandas",
        {
            "to_json of cells": lambda e: json.loads(_cells(e).to_json()),
            "to_json of a series": lambda e: json.loads(lib.pandas.Series([e]).to_json()),
            "to_json lines": lambda e: _cells(e).to_json(orient="records", lines=True),
            "to_parquet": _parquet,
            "rows": lambda e: str(lib.pandas.DataFrame([e, e]).to_dict()),
        },
    ),
    Uses(
        "duckdb",
        {
            "named": lambda e: _fetched(lib.duckdb.connect().execute, "select $text, $number", e),
            "positional": lambda e: _fetched(lib.duckdb.connect().execute, "select ?", [e]),
            "in a dict": lambda e: _fetched(lib.duckdb.execute, "select $e", {"e": e}),
        },
    ),
    Uses(
        "pycrdt",
        {
            "Map": lambda e: _shared("Map", lambda shared: shared.update({"e": [e]})),
            "Map, item": lambda e: _shared("Map", lambda shared: shared.__setitem__("e", e)),
            "Array": lambda e: _shared("Array", lambda shared: shared.extend([e, e])),
            "Text": lambda e: _shared("Text", lambda shared: shared.insert_embed(0, e)),
        },
    ),
    Uses(
        "joblib",
        {
            "hash": lambda e: lib.joblib.hash(e),
            "hash of a list": lambda e: lib.joblib.hash([e, {"e": e}, e["inner"]]),
            "hash of parts": lambda e: lib.joblib.hash((e["list"], e.key)),
        },
    ),
)
"""Of the libraries with an adapter; see test_models and test_service for more of pydantic."""

OTHERS = (
    Uses("ujson", _json(lambda *a, **k: lib.ujson.dumps(*a, **k))),
    Uses("rapidjson", _json(lambda *a, **k: lib.rapidjson.dumps(*a, **k))),
    Uses("ormsgpack", {"packb": _unpacked, "default": lambda e: _unpacked(e, default=unknown)}),
    Uses("cbor2", {"dumps": lambda e: lib.cbor2.loads(lib.cbor2.dumps([e, {"e": e}]))}),
    Uses("bson", {"encode": _bson, "nested": lambda e: _bson({"e": [e]})}),
    Uses("mashumaro", {"to_json": _mashumaro}),
    Uses(
        "jsonschema_rs",
        {
            "instance": lambda e: lib.jsonschema_rs.is_valid({"required": ["text"]}, e),
            "schema": lambda e: lib.jsonschema_rs.is_valid({"const": e}, {}),
        },
    ),
    Uses("immutables", {"Map": _made("immutables", "Map")}),
    Uses("lru", {"LRU.update": _lru}),
    Uses("xml.etree", {"TreeBuilder.start": _builder}, raw=TEXTS),
    Uses("json", {"dumps": json.dumps, "indented": lambda e: json.dumps([e], indent=1)}),
    Uses("pickle", {"dumps": lambda e: pickle.loads(pickle.dumps(e)), "copy": copy.copy}),
    Uses("simplejson", {"dumps": lambda e: lib.simplejson.dumps(e)}),
    Uses("yaml", {"dump": lambda e: lib.yaml.dump({**e, "inner": 1, "inners": 1})}),
    Uses("jinja2", {"render": lambda e: lib.jinja2.Template("{{ e|tojson }}").render(e=e)}),
    Uses("marshmallow", {"load, dump": _marshmallow}),
    Uses("msgpack", {"packb": lambda e: lib.msgpack.packb([e])}),
    Uses("httpx", {"json": lambda e: lib.httpx.Request("POST", "http://h/", json=e).content}),
    Uses(
        "requests",
        {"json": lambda e: lib.requests.Request("POST", "http://h/", json=e).prepare().body},
    ),
    Uses("flask", {"jsonify": _flask}),
    Uses("django", {"encoder": _django}),
    Uses("sqlalchemy", {"insert": _sqlalchemy}),
    Uses("cytoolz", {"valmap": lambda e: lib.cytoolz.valmap(str, e)}),
    Uses("frozendict", {"frozendict": _made("frozendict", "frozendict")}),
    Uses("multidict", {"MultiDict": _made("multidict", "MultiDict")}),
    Uses("pyrsistent", {"pmap": _made("pyrsistent", "pmap")}),
    Uses("rpds", {"HashTrieMap": _made("rpds", "HashTrieMap")}),
    Uses("cachebox", {"update": lambda e: _updated(lib.cachebox.Cache(50), e)}),
    Uses("cloudpickle", {"dumps": lambda e: pickle.loads(lib.cloudpickle.dumps(e))}),
    Uses("jsonpickle", {"encode": lambda e: lib.jsonpickle.encode(e, unpicklable=False)}),
    Uses("fastavro", {"writer": _avro}),
)
"""Of the libraries without one; those in Python that only call methods of a dict are left out."""


def verdict(uses: Uses) -> str:
    """Return what a library without an adapter does with lazy entities.

    Returns:
        ``right``: as with stock ones; ``loud``: it raises for some; ``silent``: what it makes of
        some differs.
    """
    from lazyentity import LazyEntity
    from tests.entity.consumption import describe
    from tests.support.snapshots import Raised, outcome
    from tests.support.stock import in_order_of, stock_entity

    found = {"right"}
    for name, use in uses.uses.items():
        if name in HOOKS:
            # It is up to such a function what it does with a value that the library refused.
            continue
        stock = in_order_of(LazyEntity.from_bytes(uses.raw), stock_entity(uses.raw))
        expected = describe(outcome(use, stock))
        made = outcome(use, LazyEntity.from_bytes(uses.raw))
        try:
            if describe(made) != expected:
                found.add("loud" if isinstance(made, Raised) else "silent")
        except (AssertionError, TypeError):
            # The sentinel is in the result.
            found.add("silent")
    return next(each for each in ("silent", "loud", "right") if each in found)


@functools.cache
def verdicts() -> dict[str, str]:
    """Return the verdict for each installed library, found in a process without adapters."""
    program = (
        "import json; from tests.adapters import uses; "
        "print(json.dumps({each.module: uses.verdict(each) "
        "for each in (*uses.ADAPTED, *uses.OTHERS) if each.is_installed()}))"
    )
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env={**os.environ, "LAZYENTITY_ADAPTERS": "0"},
        capture_output=True,
        text=True,
        check=False,
        cwd=PAGE.parents[1],
        timeout=300,
    )
    assert finished.returncode == 0, finished.stderr
    found: dict[str, str] = json.loads(finished.stdout.splitlines()[-1])
    return found


def listed(found: dict[str, str]) -> dict[str, str]:
    """Return the modules by verdict, as the page names them."""
    return {
        each: ", ".join(sorted((name for name in found if found[name] == each), key=str.lower))
        for each in ("silent", "loud", "right")
    }


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(START)
    rows = "".join(
        textwrap.fill(f":{name}: {names}", 110, subsequent_indent="   ") + "\n"
        for name, names in listed(verdicts()).items()
    )
    PAGE.write_text(f"{head}{START}\n\n{rows}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
