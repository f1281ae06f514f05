"""The libraries with an adapter, because they read dicts past their methods."""

from __future__ import annotations

from typing import NamedTuple


class Library(NamedTuple):
    """A library with an adapter.

    Attributes:
        distribution: the name that it is installed by; None for a part of Python itself.
        tested: the versions that the adapter was tested with.
        modules: the modules with replaced functions.
        adapter: the module of this package with the replacements, its ``SEAMS`` in the library's
            modules. None if the adapters of other libraries are enough.
    """

    distribution: str | None
    tested: str
    modules: tuple[str, ...]
    adapter: str | None


LIBRARIES = (
    Library(
        "pydantic",
        ">=2.8,<3",
        (
            "pydantic_core",
            "pydantic.main",
            "pydantic.root_model",
            "pydantic.type_adapter",
            "pydantic._internal._dataclasses",
            "pydantic._internal._model_construction",
            "pydantic.plugin._schema_validator",
        ),
        "pydantic",
    ),
    Library("fastapi", ">=0.115,<1", ("fastapi",), None),
    Library("sqlmodel", ">=0.0.22,<1", ("sqlmodel._compat",), "sqlmodel"),
    Library("orjson", ">=3.10,<4", ("orjson",), "rows"),
    Library(
        "msgspec",
        ">=0.18,<1",
        ("msgspec", "msgspec.json", "msgspec.msgpack", "msgspec.yaml", "msgspec.toml"),
        "msgspec",
    ),
    Library("ujson", ">=5,<7", ("ujson",), "rows"),
    Library("python-rapidjson", ">=1.20,<2", ("rapidjson",), "rows"),
    Library("ormsgpack", ">=1.5,<2", ("ormsgpack",), "rows"),
    Library("cbor2", ">=5.6,<7", ("cbor2",), "cbor2"),
    Library("pymongo", ">=4.8,<5", ("bson", "pymongo.message"), "bson"),
    Library(
        "polars",
        ">=1,<3",
        (
            "polars.dataframe.frame",
            "polars.lazyframe.frame",
            "polars.series.series",
            "polars.convert.general",
            "polars.functions.lit",
            "polars",
        ),
        "polars",
    ),
    Library("pyarrow", ">=16.1,<27", ("pyarrow.lib", "pyarrow"), "pyarrow"),
    Library("pandas", ">=2.2,<4", ("pandas.io.json._json",), "pandas"),
    Library("duckdb", ">=1,<3", ("duckdb",), "duckdb"),
    Library("joblib", ">=1.4,<2", ("joblib.hashing",), "joblib"),
    Library("mashumaro", ">=3.13,<4", ("mashumaro.mixins.orjson",), "rows"),
    Library("immutables", ">=0.20,<1", ("immutables",), "rows"),
    Library("jsonschema-rs", ">=0.60,<1", ("jsonschema_rs",), "rows"),
    Library("pycrdt", ">=0.14,<1", ("pycrdt._pycrdt",), "pycrdt"),
    Library("lru-dict", ">=1.3,<2", ("lru",), "rows"),
    Library(None, "", ("xml.etree.ElementTree",), "etree"),
)
