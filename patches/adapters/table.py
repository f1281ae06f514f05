"""The libraries with an adapter, and the names that each replaces.

C code that reads the storage of a dict sees the sentinel of unread properties. Most libraries
refuse it. A library is in this table if it is used with entities every day, or if it takes the
sentinel without an error; ``docs/adapters.rst`` has the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Library(NamedTuple):
    """A library with an adapter.

    Attributes:
        distribution: the name that it is installed by.
        tested: the versions that the adapter was tested with.
        names: the dotted paths of functions and methods, by the module to look them up in.
        prepare: as of :func:`lazyentity.patches.adapters.adapted.adapted`, for every name.
    """

    distribution: str
    tested: str
    names: dict[str, tuple[str, ...]]
    prepare: Callable[..., object] | None = None


def _methods(kind: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{kind}.{name}" for name in names)


def _keep_hash(hasher: Any, *_: Any) -> None:
    # Imports the client, and so no earlier than the application does.
    from lazyentity.patches.adapters.hashing import hash_as_stock

    hash_as_stock(hasher)


_STATEMENTS = ("execute", "executemany", "sql", "query", "from_query", "values")
_ARROW = ("array", "scalar", "chunked_array", "infer_type", "table", "record_batch", "asarray")

LIBRARIES = (
    Library(
        "pydantic",
        ">=2.8,<3",
        {
            # Models, dataclasses, type adapters and FastAPI call these, also those made before.
            "pydantic_core": (
                *_methods(
                    "SchemaValidator",
                    *("validate_python", "isinstance_python", "validate_strings"),
                    "validate_assignment",
                ),
                *_methods("SchemaSerializer", "to_python", "to_json"),
                *("to_json", "to_jsonable_python"),
            ),
        },
    ),
    # Models of tables are made without a validation.
    Library("sqlmodel", ">=0.0.22,<1", {"sqlmodel._compat": ("sqlmodel_table_construct",)}),
    Library("orjson", ">=3.10,<4", {"orjson": ("dumps",)}),
    Library(
        "msgspec",
        ">=0.18,<1",
        {
            "msgspec": ("to_builtins", "convert"),
            "msgspec.json": ("encode",),
            "msgspec.msgpack": ("encode",),
            "msgspec.yaml": ("encode",),
            "msgspec.toml": ("encode",),
        },
    ),
    Library("pandas", ">=2.2,<4", {"pandas.io.json._json": ("ujson_dumps",)}),
    Library(
        "polars",
        ">=1,<3",
        {
            "polars.dataframe.frame": ("DataFrame.__init__",),
            "polars.lazyframe.frame": ("LazyFrame.__init__",),
            "polars.series.series": ("Series.__init__",),
            "polars.convert.general": ("from_dict", "from_dicts", "from_records"),
            "polars.functions.lit": ("lit",),
        },
    ),
    Library("pyarrow", ">=16.1,<27", {"pyarrow.lib": (*_ARROW, "_from_pylist")}),
    Library(
        "duckdb",
        ">=1,<3",
        {"duckdb": (*_STATEMENTS, *_methods("DuckDBPyConnection", *_STATEMENTS))},
    ),
    Library(
        "pycrdt",
        ">=0.14,<1",
        {
            "pycrdt._pycrdt": (
                *("Array.insert", "Map.insert"),
                *("XmlElement.insert_attribute", "XmlText.insert_attribute"),
                *("Text.insert_embed", "XmlText.insert_embed"),
            ),
        },
    ),
    Library("joblib", ">=1.4,<2", {"joblib.hashing": ("Hasher.hash",)}, _keep_hash),
)
