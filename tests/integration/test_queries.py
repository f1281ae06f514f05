"""Queries: filters, order, paging, cursors, projections, explanations, aggregations."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore.query import Or, PropertyFilter, Query

from tests.integration.conftest import Sides
from tests.integration.rewrites import Endpoint, wipe
from tests.support.clients import EXPLAINS, close
from tests.support.entities import fill

Client = datastore.Client

KIND = "Item"
COUNT = 12

of_explained = pytest.mark.skipif(not EXPLAINS, reason="before 2.20, the client explains no query")


@pytest.fixture(scope="session")
def namespace(endpoint: Endpoint) -> Iterator[str]:
    """A namespace in which ``COUNT`` items are stored, half of them below either parent."""
    client = endpoint.client("grpc", namespace=f"queries-{uuid.uuid4().hex}")
    entities = []
    for number in range(COUNT):
        key = client.key("Parent", "odd" if number % 2 else "even", KIND, number + 1)
        entities.append(fill(datastore.Entity(key), number))
    client.put_multi(entities)
    yield client.namespace
    wipe(client)
    close(client)


@pytest.fixture
def client(endpoint: Endpoint, transport: str, namespace: str) -> Iterator[Client]:
    client = endpoint.client(transport, namespace=namespace)
    yield client
    close(client)


def _items(client: Client, **options: Any) -> Query:
    query: Query = client.query(kind=KIND, **{"order": ["number"], **options})
    return query


def _where(client: Client, name: str, operator: str, value: Any, **options: Any) -> Query:
    return _items(client, filters=[PropertyFilter(name, operator, value)], **options)


def _parent(client: Client) -> datastore.Key:
    key: datastore.Key = client.key("Parent", "odd")
    return key


def _reference(client: Client) -> datastore.Key:
    return datastore.Key("Other", "name", "Child", 5, project="elsewhere")


# Further reads are compared in tests/patches/datastore: here are those in which servers differ.
QUERIES: dict[str, Callable[[Client], Query]] = {
    "all": _items,
    "without a kind": lambda client: client.query(),
    "two orders": lambda client: _items(client, order=["parity", "-number"]),
    "equal key": lambda client: _where(client, "reference", "=", _reference(client)),
    "equal element": lambda client: _where(client, "list", "=", "two"),
    "a range": lambda client: _items(
        client,
        filters=[PropertyFilter("number", ">=", 3), PropertyFilter("number", "<", 9)],
    ),
    "not in": lambda client: _where(client, "number", "NOT_IN", [2, 3, 5, 99]),
    "either": lambda client: _items(
        client,
        filters=[Or([PropertyFilter("number", "=", 1), PropertyFilter("number", "=", 8)])],
    ),
    "ancestor, filtered": lambda client: _where(client, "number", ">", 4, ancestor=_parent(client)),
    "projection of an array": lambda client: _items(
        client, projection=["list"], order=[], filters=[PropertyFilter("number", "=", 3)]
    ),
    "projection of a time": lambda client: _items(client, projection=["at"], order=["at"]),
    "distinct": lambda client: _items(
        client, projection=["parity"], distinct_on=["parity"], order=["parity"]
    ),
    "no such kind": lambda client: client.query(kind="Nothing"),
}


@pytest.mark.parametrize("make", QUERIES.values(), ids=QUERIES)
def test_query(sides: Sides, make: Callable[[Client], Query]) -> None:
    sides.check(lambda client: list(make(client).fetch()))


class TestPaging:
    """Pages and cursors."""

    def test_pages(self, sides: Sides) -> None:
        """Page by page: sizes, entities, and the token after each page."""

        def read(client: Client) -> Any:
            iterator = _items(client).fetch()
            return [
                (page.num_items, page.remaining, list(page), iterator.next_page_token)
                for page in iterator.pages
            ]

        pages = sides.check(read)
        assert sum(count for count, *_ in pages) == COUNT

    def test_a_cursor_of_either_side_serves_the_other(self, sides: Sides) -> None:
        """A query begun with the stock client can be ended lazily, and the other way round."""

        def begin(client: Client) -> Any:
            iterator = _items(client).fetch(limit=5)
            return [entity["number"] for entity in iterator], iterator.next_page_token

        def end(client: Client, token: Any) -> Any:
            return [entity["number"] for entity in _items(client).fetch(start_cursor=token)]

        first, token = begin(sides.client)
        with sides.lazily() as client:
            assert first + end(client, token) == list(range(COUNT))
            first, token = begin(client)
        assert first + end(sides.client, token) == list(range(COUNT))

    def test_end_cursor(self, sides: Sides) -> None:
        """A query can be ended where another one did, for as long as the client remembers it.

        It sends the cursor for the first batch only.
        """

        def read(client: Client) -> Any:
            iterator = _items(client).fetch(limit=5)
            first = list(iterator)
            again = list(_items(client).fetch(end_cursor=iterator.next_page_token))
            return first, again

        first, again = sides.check(read)
        assert [entity["number"] for entity in first] == [0, 1, 2, 3, 4]
        assert [entity["number"] for entity in again][:5] == [0, 1, 2, 3, 4]

    def test_a_limit_across_batches(self, sides: Sides) -> None:
        """A limit holds for all the batches together that a server sends, an offset too."""

        def read(client: Client) -> Any:
            return [entity["number"] for entity in _items(client).fetch(limit=7, offset=4)]

        assert sides.check(read) == [4, 5, 6, 7, 8, 9, 10]


@of_explained
@pytest.mark.parametrize("analyze", [False, True])
def test_explain(sides: Sides, analyze: bool) -> None:
    """The metrics of an explained query are there, and equal where they can be from run to run."""

    def read(client: Client) -> Any:
        options = datastore.ExplainOptions(analyze=analyze)
        iterator = _items(client, explain_options=options).fetch()
        entities = list(iterator)
        metrics = iterator.explain_metrics
        indexes = [dict(index) for index in metrics.plan_summary.indexes_used]
        if not analyze:
            return entities, indexes
        stats = metrics.execution_stats
        return entities, indexes, stats.results_returned, stats.read_operations

    result = sides.check(read)
    if sides.complete:
        entities, indexes, *counts = result
        assert len(entities) == (COUNT if analyze else 0)
        assert len(indexes) == 1
        assert len(counts) == (2 if analyze else 0)


def test_other_namespaces(sides: Sides, endpoint: Endpoint, transport: str) -> None:
    """A query's own namespace counts, not its client's."""
    other = endpoint.client(transport, namespace=f"{sides.client.namespace}-other")
    other.put(fill(datastore.Entity(other.key(KIND, 1)), 1))

    def read(client: Client) -> Any:
        return list(client.query(kind=KIND, namespace=other.namespace).fetch())

    (found,) = sides.check(read)
    assert found.key.namespace == other.namespace
    wipe(other)
    close(other)


def test_aggregations_are_untouched(sides: Sides) -> None:
    """Aggregation queries give the client's own results, with the same values."""

    def read(client: Client) -> Any:
        aggregation = client.aggregation_query(_items(client, order=[]))
        aggregation.count(alias="count").sum("number", alias="sum").avg("number", alias="avg")
        return [{result.alias: result.value for result in row} for row in aggregation.fetch()]

    (row,) = sides.check(read)
    assert row == {"count": COUNT, "sum": sum(range(COUNT)), "avg": sum(range(COUNT)) / COUNT}
