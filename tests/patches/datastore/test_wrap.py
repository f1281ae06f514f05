"""wrap(): lazy reads for one query or client, and no trace of them anywhere else."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from google.cloud import datastore
from google.cloud.datastore.aggregation import AggregationQuery
from google.cloud.datastore.query import Query

import lazyentity
from tests.patches.conftest import Make
from tests.patches.order_program import COUNT, KIND, read
from tests.patches.seams import ORIGINALS, standing
from tests.support.clients import BEGINS_LATER
from tests.support.describing import describe, entity_types

_LATER = {"begin_later": True} if BEGINS_LATER else {}

Client = datastore.Client

LAZY = ["LazyEntity"]
STOCK = ["Entity"]


@contextmanager
def nothing_changes(*objects: object) -> Iterator[None]:
    """Check that no seam is touched inside, and that ``objects`` keep class and attributes."""
    before = [(type(one), dict(vars(one))) for one in objects]
    yield
    assert standing() == ORIGINALS
    assert [(type(one), dict(vars(one))) for one in objects] == before


def types_of(query: Any) -> list[str]:
    """Fetch a query; return the classes of its entities."""
    return sorted(entity_types(list(query.fetch())))


class TestClient:
    """A wrapped client."""

    def test_its_reads_alone_are_lazy_and_right(
        self, client: Client, make: Make, stock_contents: Any
    ) -> None:
        """Other clients stay stock, made before or after, and the one that was given, too."""
        before = make()
        client.get(client.key(KIND, 1))
        with nothing_changes(client):
            wrapped = lazyentity.wrap(client)
            assert read(wrapped) == {"classes": LAZY, "contents": stock_contents}
        for other in (client, before, make()):
            assert read(other) == {"classes": STOCK, "contents": stock_contents}

    def test_an_unused_client_can_be_wrapped_first(self, make: Make, stock_contents: Any) -> None:
        """The connection that the wrapped one opens is the one that the other goes on with."""
        client = make()
        wrapped = lazyentity.wrap(client)
        assert read(wrapped)["classes"] == LAZY
        opened = client._datastore_api_internal
        assert opened is not None
        assert read(client) == {"classes": STOCK, "contents": stock_contents}
        assert client._datastore_api is opened

    def test_is_an_instance_of_what_it_wraps(self, make: Make) -> None:
        class Mine(datastore.Client):
            pass

        for kind in (datastore.Client, Mine):
            wrapped = lazyentity.wrap(make(kind=kind))
            assert isinstance(wrapped, kind)
            assert type(wrapped).__name__ == kind.__name__
            assert type(wrapped).__module__ == kind.__module__

    def test_state_is_shared_both_ways(self, make: Make) -> None:
        client = make(namespace="one")
        wrapped = lazyentity.wrap(client)
        client.namespace = "two"
        assert wrapped.namespace == "two"
        wrapped.namespace = "three"
        assert client.key("K", 1).namespace == "three"
        assert wrapped._datastore_api_internal is client._datastore_api_internal
        assert client._datastore_api is wrapped._datastore_api_internal

    def test_missing_and_deferred_are_filled(self, client: Client) -> None:
        """``missing`` gets entities that are lazy as well, with the keys that stock gives."""
        keys = [client.key(KIND, number) for number in (1, 1000, 2, 1001)]
        missing: list[Any] = []
        deferred: list[Any] = []
        found = lazyentity.wrap(client).get_multi(keys, missing=missing, deferred=deferred)
        assert entity_types([found, missing]) == set(LAZY)
        assert sorted(entity.key.id for entity in found) == [1, 2]
        assert sorted(entity.key.id for entity in missing) == [1000, 1001]
        assert deferred == []

    def test_aggregations_are_the_clients(self, client: Client, query: Query) -> None:
        """Over queries that are wrapped, and of clients that are."""
        wrapped = lazyentity.wrap(client)
        for of, over in ((client, lazyentity.wrap(query)), (wrapped, wrapped.query(kind=KIND))):
            aggregation = of.aggregation_query(over).count(alias="all")
            assert type(aggregation) is AggregationQuery
            assert [[one.value for one in row] for row in aggregation.fetch()] == [[COUNT]]

    def test_reads_in_its_transactions(self, make: Make) -> None:
        client = make(namespace="wrap-transaction")
        stored = datastore.Entity(client.key("Counter", 1))
        stored["value"] = 1
        client.put(stored)
        wrapped = lazyentity.wrap(client)
        with wrapped.transaction() as transaction:
            assert client.current_transaction is transaction
            assert wrapped.current_transaction is transaction
            entity = wrapped.get(stored.key)
            assert type(entity) is lazyentity.LazyEntity
            entity["value"] += 1
            transaction.put(entity)
        assert client.get(stored.key)["value"] == 2

    def test_reads_in_transactions_of_the_client_that_was_given(self, make: Make) -> None:
        """Both have one stack of transactions: a read by either belongs to the current one."""
        client = make(namespace="wrap-transaction")
        wrapped = lazyentity.wrap(client)
        key = client.key("Stored later", 1)
        client.delete(key)
        with client.transaction(**_LATER) as transaction:
            assert (transaction.id is None) == BEGINS_LATER
            assert wrapped.get(key) is None
            assert transaction.id
            make(namespace="wrap-transaction").put(datastore.Entity(key))
            # The transaction sees the state in which it began.
            assert wrapped.get(key) is None

    def test_its_batches_write_lazy_entities(self, make: Make) -> None:
        client = make(namespace="wrap-batch")
        stored = datastore.Entity(client.key("Counter", 1))
        stored.update({"value": 1, "untouched": "u"})
        client.put(stored)
        wrapped = lazyentity.wrap(client)
        entity = wrapped.get(stored.key)
        entity["value"] = 2
        with wrapped.batch() as batch:
            assert client.current_batch is batch
            wrapped.put(entity)
        assert dict(client.get(stored.key)) == {"value": 2, "untouched": "u"}

    def test_is_no_more_picklable_than_stock(self, client: Client) -> None:
        for reader in (client, lazyentity.wrap(client)):
            with pytest.raises(pickle.PicklingError, match="Client"):
                pickle.dumps(reader)


class TestQuery:
    """A wrapped query."""

    def test_its_results_alone_are_lazy_and_right(
        self, query: Query, client: Client, stock_contents: Any
    ) -> None:
        with nothing_changes(query):
            entities = list(lazyentity.wrap(query).fetch())
        assert entity_types(entities) == set(LAZY)
        assert describe(entities) == stock_contents["fetch"]
        assert types_of(query) == STOCK
        assert read(client) == {"classes": STOCK, "contents": stock_contents}

    def test_interleaved_iterators_keep_to_themselves(self, query: Query) -> None:
        """Lazy and stock iterators of the same query can be advanced in turn."""
        pairs = list(zip(lazyentity.wrap(query).fetch(), query.fetch(), strict=True))
        assert len(pairs) == COUNT
        for lazy, stock in pairs:
            assert entity_types(lazy) == set(LAZY)
            assert entity_types(stock) == set(STOCK)
            assert describe(lazy) == describe(stock)

    def test_is_an_instance_of_what_it_wraps(self, client: Client) -> None:
        """Its own methods can be called, and those that it overrides are."""

        class Mine(Query):
            fetched = 0

            def fetch(self, *args: Any, **kwargs: Any) -> Any:
                self.fetched += 1
                return super().fetch(*args, **kwargs)  # type: ignore[no-untyped-call]  # upstream

            def fetch_ids(self) -> list[Any]:
                return [entity.key.id for entity in self.fetch()]

        mine: Any = Mine
        wrapped = lazyentity.wrap(mine(client, kind=KIND, order=["__key__"]))
        assert isinstance(wrapped, Mine)
        assert isinstance(lazyentity.wrap(client.query()), Query)
        assert isinstance(lazyentity.wrap(client).query(), Query)
        assert types_of(wrapped) == LAZY
        assert wrapped.fetch_ids() == [1, 2, 3]
        assert wrapped.fetched == 2

    def test_another_client_can_be_named(
        self, query: Query, make: Make, stock_contents: Any
    ) -> None:
        """The other client's connection is used, for lazy reads, and stays stock itself."""
        other = make()
        entities = list(lazyentity.wrap(query).fetch(client=other))
        assert entity_types(entities) == set(LAZY)
        assert describe(entities) == stock_contents["fetch"]
        assert other._datastore_api_internal is not None
        assert query._client._datastore_api_internal is None
        assert read(other)["classes"] == STOCK

    def test_a_wrapped_client_can_be_named(self, query: Query, make: Make) -> None:
        """A stock query fetched through a wrapped client gives stock's results."""
        entities = list(query.fetch(client=lazyentity.wrap(make())))
        assert describe(entities) == describe(list(query.fetch()))

    def test_reads_in_the_current_transaction(self, client: Client) -> None:
        with client.transaction(**_LATER) as transaction:
            assert types_of(lazyentity.wrap(client.query(kind=KIND))) == LAZY
        # Only responses to lookups hand an id back to a transaction that is begun later.
        assert transaction.id is None or isinstance(transaction.id, bytes)

    def test_a_query_without_a_real_client(self) -> None:
        """A mock of a client is passed on as it is."""
        client = mock.Mock(project="p", namespace=None, spec=["project", "namespace"])
        iterator = lazyentity.wrap(Query(client, kind=KIND)).fetch()
        assert iterator.client is client


@pytest.mark.parametrize("is_first", [True, False])
def test_wrapped_before_patching_or_after(
    client: Client, stock_contents: Any, is_first: bool
) -> None:
    if is_first:
        wrapped = lazyentity.wrap(client)
        read(wrapped)
    lazyentity.patch()
    if not is_first:
        wrapped = lazyentity.wrap(client)
    for reader in (wrapped, client):
        assert read(reader) == {"classes": LAZY, "contents": stock_contents}
    lazyentity.unpatch()
    assert read(wrapped) == {"classes": LAZY, "contents": stock_contents}
    assert read(client) == {"classes": STOCK, "contents": stock_contents}


def test_the_kill_switch_is_for_patching_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LAZYENTITY_DISABLE turns patch() off, but not wrap()."""
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    assert read(lazyentity.wrap(client))["classes"] == LAZY


class _QueryLike:
    """Looks like a query, but is none."""

    kind = KIND

    def fetch(self) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, "NoneType"),
        (5, "int"),
        ("text", "str"),
        (datastore.Client, "type"),
        (datastore.Entity(), "google.cloud.datastore.entity.Entity"),
        (datastore.Key("K", 1, project="p"), "google.cloud.datastore.key.Key"),
        (
            AggregationQuery(None, mock.Mock()),
            "google.cloud.datastore.aggregation.AggregationQuery",
        ),
        (_QueryLike(), "_QueryLike"),
        (mock.Mock(spec=datastore.Client), "unittest.mock.Mock"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_anything_else_is_refused(given: Any, named: str) -> None:
    """The TypeError names the accepted types and the given one."""
    with pytest.raises(TypeError) as refused:
        lazyentity.wrap(given)
    text = str(refused.value)
    assert text.startswith("wrap() takes a google.cloud.datastore Query or Client, not ")
    assert text.endswith(named)


@pytest.mark.parametrize("kind", [datastore.Client, Query])
def test_state_in_slots_is_refused(kind: Any) -> None:
    """A subclass that keeps state in slots cannot share it; the TypeError names the slot."""

    class Slotted(kind):  # type: ignore[misc]  # a base known at run time only
        __slots__ = ("extra",)

    with pytest.raises(TypeError, match=r"Slotted.*'extra' in a slot"):
        lazyentity.wrap(object.__new__(Slotted))
