"""eager(): stock entities for a stretch of code, whatever the read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from tests.patches.order_program import KIND, read
from tests.support.clients import close, make_client
from tests.support.describing import describe, entity_types

Client = datastore.Client

LAZY = "LazyEntity"
STOCK = "Entity"


pytestmark = pytest.mark.usefixtures("patched")


def test_all_reads_inside_are_stock(client: Client, stock_contents: Any) -> None:
    """Without a patch, eager() changes nothing."""
    stock = {"classes": [STOCK], "contents": stock_contents}
    with lazyentity.eager():
        assert read(client) == stock
    assert read(client) == {"classes": [LAZY], "contents": stock_contents}
    lazyentity.unpatch()
    with lazyentity.eager():
        assert read(client) == stock


@pytest.fixture(scope="module")
def small_batches() -> Iterator[dict[str, int]]:
    """Ports by transport of a server that sends two entities a batch, and has five."""
    with LoopbackServer(batch_size=2) as server:
        ports = {"grpc": server.grpc_port, "http": server.http_port}
        client = make_client(server.grpc_port, "grpc")
        for number in range(5):
            entity = datastore.Entity(client.key(KIND, number + 1))
            inner = datastore.Entity()
            entity.update({"number": number, "inner": inner, "list": [inner]})
            client.put(entity)
        close(client)
        yield ports


@pytest.fixture
def paged(small_batches: dict[str, int], transport: str) -> Iterator[Client]:
    client = make_client(small_batches[transport], transport)
    yield client
    close(client)


class TestPages:
    """The decision belongs to the RPC that fetched a page."""

    @pytest.mark.parametrize("first", [STOCK, LAZY])
    def test_a_page_stays_as_it_was_fetched(self, paged: Client, first: str) -> None:
        """Inside or outside; the next page is as it is fetched then. Whole pages are."""
        iterator = iter(paged.query(kind=KIND, order=["number"]).fetch())
        with lazyentity.eager() if first == STOCK else nullcontext():
            entities = [next(iterator)]
        with lazyentity.eager() if first == LAZY else nullcontext():
            entities += iterator
        assert [entity["number"] for entity in entities] == list(range(5))
        then = LAZY if first == STOCK else STOCK
        assert [entity_types(entity) for entity in entities] == [{first}] * 2 + [{then}] * 3

    def test_page_objects(self, paged: Client) -> None:
        pages = paged.query(kind=KIND, order=["number"]).fetch().pages
        with lazyentity.eager():
            first = next(pages)
        second = next(pages)
        with lazyentity.eager():
            third = next(pages)
            seen = [entity_types(entity) for entity in second]
        seen += [entity_types(entity) for entity in first]
        seen += [entity_types(entity) for entity in third]
        assert seen == [{LAZY}] * 2 + [{STOCK}] * 3

    def test_a_fetch_that_is_only_prepared_inside_is_lazy(self, paged: Client) -> None:
        """fetch() sends nothing; the place where the iterator is advanced decides."""
        with lazyentity.eager():
            iterator = paged.query(kind=KIND).fetch()
        assert entity_types(list(iterator)) == {LAZY}

    def test_a_lazy_entity_read_inside_stays_lazy(self, paged: Client) -> None:
        """eager() affects RPCs, not existing entities."""
        entity = paged.get(paged.key(KIND, 1))
        with lazyentity.eager():
            assert type(entity["inner"]) is lazyentity.LazyEntity
            assert entity_types(entity) == {LAZY}

    def test_stock_and_lazy_pages_hold_the_same(self, paged: Client) -> None:
        query = paged.query(kind=KIND, order=["number"])
        lazy = list(query.fetch())
        with lazyentity.eager():
            stock = list(query.fetch())
        assert describe(lazy) == describe(stock)
        assert lazy == stock
        assert stock == lazy
