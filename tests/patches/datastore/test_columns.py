"""Columns of a query: a row takes the place of each entity that nobody would see."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity._dispatch import unboxed_of
from tests.patches.datastore.activations import (
    Activate,
    patched,
    patched_eagerly,
    wrapped_eagerly,
)
from tests.patches.order_program import COUNT, KIND
from tests.support.snapshots import snapshot

NAMES = ["number", "text", "list", "embedded", "missing"]
COUNTS = ("num_results", "page_number", "next_page_token", "_started", "_more_results")


def _fetch(client: datastore.Client) -> Any:
    query: Any = client.query(kind=KIND, order=("__key__",))
    return query.fetch()


def _columns(entities: list[Any]) -> dict[str, list[Any]]:
    values = [lazyentity.to_dict(entity) for entity in entities]
    return {name: [value.get(name) for value in values] for name in NAMES}


@pytest.fixture
def stock(client: datastore.Client) -> dict[str, list[Any]]:
    """The columns of stock entities."""
    return _columns(list(_fetch(client)))


IN_ROWS: dict[str, Activate] = {
    "patched": patched,
    "wrapped": lazyentity.wrap,
    "both": lambda client: lazyentity.wrap(patched(client)),
}
IN_ENTITIES: dict[str, Activate] = {
    "stock": lambda client: client,
    "patched eagerly": patched_eagerly,
    "wrapped eagerly": wrapped_eagerly,
    "prefetched": lambda client: lazyentity.wrap(client, prefetch=["number"]),
}
WAYS = IN_ROWS | IN_ENTITIES


@pytest.fixture(params=IN_ROWS)
def lazily(
    request: pytest.FixtureRequest, client: datastore.Client, stock: Any
) -> datastore.Client:
    return IN_ROWS[request.param](client)


def _gives_rows(iterator: Any) -> bool:
    """Whether the items are rows, and no entities."""
    (are_entities,) = {isinstance(item, datastore.Entity) for item in unboxed_of(iterator)}
    return not are_entities


@pytest.mark.parametrize("way", WAYS)
def test_values_of_stock_entities(client: datastore.Client, stock: Any, way: str) -> None:
    """The same values, and counts of the iterator afterwards, as with its entities."""
    reading = WAYS[way](client)
    iterator, listed = _fetch(reading), _fetch(reading)
    assert snapshot(lazyentity.columns(iterator, NAMES, missing="null")) == snapshot(stock)
    assert len(list(listed)) == COUNT
    for count in COUNTS:
        assert getattr(iterator, count) == getattr(listed, count)
    assert _gives_rows(_fetch(reading)) is (way in IN_ROWS and lazyentity.backend == "native")


@pytest.mark.parametrize("way", WAYS)
def test_keys_of_stock_entities(client: datastore.Client, way: str) -> None:
    keys = [entity.key for entity in _fetch(client)]
    reading = WAYS[way](client)
    made = lazyentity.columns(_fetch(reading), ["number"], key="key")
    assert made == {"key": keys, "number": [1, 2, 3]}
    made = lazyentity.columns(_fetch(reading), [], key="id", key_as="id")
    assert made == {"id": [key.id for key in keys]}
    made = lazyentity.columns(_fetch(reading), [], key="path", key_as="path")
    assert made == {"path": [key.flat_path for key in keys]}


@pytest.mark.parametrize("way", WAYS)
def test_missing_properties(client: datastore.Client, way: str) -> None:
    """The error names the first entity that lacks one; nulls are not missing."""
    reading = WAYS[way](client)
    made = lazyentity.columns(_fetch(reading), ["number"], missing="raise")
    assert made == {"number": [1, 2, 3]}
    with pytest.raises(KeyError, match=rf"Key\('{KIND}', 1\).* has no property 'nunber'"):
        lazyentity.columns(_fetch(reading), ["number", "nunber"], missing="raise")


def test_strict_queries(client: datastore.Client) -> None:
    """A property that was not prefetched is refused."""
    strict = lazyentity.wrap(client, prefetch=["number"], strict=True)
    assert lazyentity.columns(_fetch(strict), ["number"]) == {"number": [1, 2, 3]}
    with pytest.raises(RuntimeError, match="was not prefetched"):
        lazyentity.columns(_fetch(strict), ["text"])


@pytest.mark.parametrize("function", [lazyentity.columns, lazyentity.column_batches])
def test_iterators_that_were_started(lazily: datastore.Client, function: Any) -> None:
    """The error is that of the client, and comes at once."""
    iterator = _fetch(lazily)
    next(iterator)
    with pytest.raises(ValueError, match="already started"):
        function(iterator, NAMES)
