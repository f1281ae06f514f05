"""to_pandas() and to_arrow(): the values of a DataFrame of all the stock entities, typed."""

from __future__ import annotations

import datetime
import math
from typing import Any
from unittest import mock

import pytest
from google.cloud.datastore import Key
from google.cloud.datastore.helpers import GeoPoint
from hypothesis import given, settings, strategies as st

import lazyentity
from lazyentity import LazyEntity, columnar, tables
from tests.support.stock import stock_entity
from tests.support.strategies.samples import serialise

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

UTC = datetime.timezone.utc
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "flag": st.booleans(),
    "number": st.integers(-(2**63), 2**63 - 1),
    "ratio": st.floats(allow_nan=False),
    "text": st.text(max_size=5),
    "blob": st.binary(max_size=5),
    "at": st.datetimes(
        timezones=st.just(UTC),
        min_value=datetime.datetime(1700, 1, 1),
        max_value=datetime.datetime(2200, 1, 1),
    ),
    "items": st.lists(st.integers(0, 9), max_size=3),
    "inner": st.fixed_dictionaries({"a": st.integers(0, 9)}),
}
ROWS = st.lists(
    st.fixed_dictionaries(
        {}, optional={name: st.none() | values for name, values in VALUES.items()}
    ),
    max_size=6,
)
NAMES = [*VALUES, "missing"]


def _rows(rows: list[dict[str, Any]]) -> tuple[list[LazyEntity], list[Any]]:
    raws = [serialise(row) for row in rows]
    return [LazyEntity.from_bytes(raw) for raw in raws], [stock_entity(raw) for raw in raws]


def _cell(value: Any) -> Any:
    """A value of a table, None where it is a null of pandas."""
    if isinstance(value, (list, dict)) or value is None:
        return value
    return None if pandas.isna(value) else value


@settings(max_examples=40)
@given(rows=ROWS)
def test_pandas_has_the_values_of_stock(rows: list[dict[str, Any]]) -> None:
    """The values of a DataFrame of the stock entities; the types hold when some are missing."""
    lazy, stock = _rows(rows)
    frame = lazyentity.to_pandas(lazy, NAMES, missing="null")
    whole = pandas.DataFrame(stock)
    assert list(frame.columns) == NAMES
    assert len(frame) == len(rows)
    for name in NAMES:
        found = [_cell(value) for value in frame[name]]
        assert found == [entity.get(name) for entity in stock]
        # Large integers lose digits in stock's column, if it has to hold missing ones as floats.
        if name in whole and name != "number":
            assert found == [_cell(value) for value in whole[name]]
    assert not any(lazyentity.decoded(entity) for entity in lazy)


def test_a_float_that_is_no_number_is_not_a_null() -> None:
    lazy, _ = _rows([{"ratio": math.nan}, {}, {"ratio": 1.5}])
    column = lazyentity.to_pandas(lazy, ["ratio"])["ratio"]
    assert str(column.dtype) == "Float64"
    values = column.tolist()
    assert math.isnan(values[0])
    assert values[1] is pandas.NA
    assert values[2] == 1.5
    (found,) = lazyentity.to_arrow(lazy, ["ratio"]).to_pydict().values()
    assert math.isnan(found[0])
    assert found[1:] == [None, 1.5]


def _batches_of(size: int) -> Any:
    def column_batches(entities: Any, names: Any, **options: Any) -> Any:
        return columnar.column_batches(entities, names, size, **options)

    return mock.patch.object(tables, "column_batches", column_batches)


@settings(max_examples=40)
@given(rows=ROWS, size=st.integers(1, 3))
def test_arrow_has_the_values_of_stock(rows: list[dict[str, Any]], size: int) -> None:
    """The same as an Arrow table, whatever the batches are."""
    lazy, stock = _rows(rows)
    with _batches_of(size):
        table = lazyentity.to_arrow(iter(lazy), NAMES, missing="null")
    assert table.column_names == NAMES
    assert table.num_rows == len(rows)
    for name in NAMES:
        assert table[name].to_pylist() == [entity.get(name) for entity in stock]


FULL: dict[str, Any] = {
    "flag": True,
    "number": 1,
    "ratio": 1.5,
    "text": "a",
    "blob": b"a",
    "at": datetime.datetime(2024, 5, 6, tzinfo=UTC),
}


def test_types() -> None:
    """A column has the type of its values, and one that knows nulls where some are missing."""
    whole, gaps = _rows([FULL, FULL])[0], _rows([FULL, {"text": None}])[0]
    dtypes = lazyentity.to_pandas(whole, FULL, missing="null").dtypes
    assert [str(dtypes[name]) for name in ("flag", "number", "ratio", "at")] == [
        "bool",
        "int64",
        "float64",
        "datetime64[us, UTC]",
    ]
    frame = lazyentity.to_pandas(gaps, FULL, missing="null")
    dtypes = frame.dtypes
    assert [str(dtypes[name]) for name in ("flag", "number", "ratio", "at")] == [
        "boolean",
        "Int64",
        "Float64",
        "datetime64[us, UTC]",
    ]
    assert frame.isna().iloc[1].all()
    for entities in (whole, gaps):
        schema = lazyentity.to_arrow(entities, [*FULL, "missing"], missing="null").schema
        assert [str(schema.field(name).type) for name in (*FULL, "missing")] == [
            "bool",
            "int64",
            "double",
            "string",
            "binary",
            "timestamp[us, tz=UTC]",
            "null",
        ]


@pytest.mark.parametrize("to_table", [lazyentity.to_pandas, lazyentity.to_arrow])
@pytest.mark.parametrize("other", [1, None])
def test_integers_that_are_too_large(to_table: Any, other: int | None) -> None:
    """Datastore has none, but an application can assign one."""
    lazy, _ = _rows([FULL, FULL])
    lazy[0]["number"], lazy[1]["number"] = 2**63, other
    with pytest.raises(OverflowError, match="'number' has an integer of more than 64 bits"):
        to_table(lazy, FULL)


SEVERAL: list[dict[str, Any]] = [{"a": 1}, {"a": "text"}, {}, {"a": [1, 2]}, {"a": None}, {"a": 2}]


@pytest.mark.parametrize("to_table", [lazyentity.to_pandas, lazyentity.to_arrow])
def test_several_types(to_table: Any) -> None:
    """A property of several types is named in the error, or kept as it is on request."""
    lazy, stock = _rows(SEVERAL)
    with pytest.raises(TypeError) as raised:
        to_table(lazy, ["b", "a"], missing="null")
    assert str(raised.value) == (
        "property 'a' has values of several types (int, list, str); pass objects=True to keep them "
        "as they are"
    )
    table = to_table(lazy, ["a"], objects=True)
    values = table["a"].to_pylist() if to_table is lazyentity.to_arrow else list(table["a"])
    assert values == [entity.get("a") for entity in stock]


@pytest.mark.parametrize("value", [Key("A", 1, project="p"), GeoPoint(1, 2), [1, "two"]])
def test_values_that_arrow_lacks(value: Any) -> None:
    """They are an error that names the property, and objects of a DataFrame."""
    lazy, stock = _rows([{"a": value}])
    with pytest.raises(TypeError, match="property 'a'"):
        lazyentity.to_arrow(lazy, ["a"])
    (found,) = lazyentity.to_pandas(lazy, ["a"])["a"]
    assert found == stock[0]["a"]


@pytest.mark.parametrize(
    "values",
    [
        [[1, 2.5]],
        [["a", b"b"]],
        [[1], [], None, [2.5]],
        [{"x": 1}, {"x": 2.5}],
        [[{"x": {"y": "a"}}], [{"x": {"y": b"b"}}]],
    ],
)
def test_types_inside_are_not_made_alike(values: list[Any]) -> None:
    """Arrow would make floats of integers, and bytes of strings, where there are both."""
    lazy, stock = _rows([{"a": value} for value in values])
    with pytest.raises(TypeError, match=r"property 'a': there are several types in its arrays"):
        lazyentity.to_arrow(lazy, ["a"])
    assert list(lazyentity.to_pandas(lazy, ["a"])["a"]) == [entity["a"] for entity in stock]


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_missing_libraries(library: str) -> None:
    """The error says how to install the library."""
    to_table = {"pandas": lazyentity.to_pandas, "pyarrow": lazyentity.to_arrow}[library]
    with (
        mock.patch.dict("sys.modules", {library: None}),
        pytest.raises(ImportError, match=f"`pip install {library}`"),
    ):
        to_table([], ["a"])
