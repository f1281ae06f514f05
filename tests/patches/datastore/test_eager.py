"""eager(): stock entities for a stretch of code."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
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


def one(client: Client) -> str:
    """Read an entity and return the name of its class, which is that of those in it as well."""
    (name,) = entity_types(client.get(client.key(KIND, 1)))
    return name


def test_all_reads_inside_are_stock(client: Client, stock_contents: Any) -> None:
    with lazyentity.eager():
        assert read(client) == {"classes": [STOCK], "contents": stock_contents}
    assert read(client) == {"classes": [LAZY], "contents": stock_contents}


def test_may_be_nested(client: Client) -> None:
    """The innermost end does not end the outer one."""
    with lazyentity.eager():
        with lazyentity.eager():
            assert one(client) == STOCK
        assert one(client) == STOCK
    assert one(client) == LAZY


def test_one_context_may_be_entered_once(client: Client) -> None:
    """Each eager() is for one with statement, like every context manager of its kind."""
    context = lazyentity.eager()
    with context:
        pass
    with pytest.raises((RuntimeError, AttributeError)), context:
        pass
    assert one(client) == LAZY


def test_ends_with_an_exception(client: Client) -> None:
    with pytest.raises(LookupError, match="inside"), lazyentity.eager():
        raise LookupError("inside")
    assert one(client) == LAZY


def test_as_a_decorator(client: Client) -> None:
    """A decorated function is eager whenever it is called, and only while it runs."""

    @lazyentity.eager()
    def decorated(depth: int) -> list[str]:
        return [one(client)] + (decorated(depth - 1) if depth else [])

    assert decorated(2) == [STOCK] * 3
    assert one(client) == LAZY
    assert decorated(0) == [STOCK]


def test_without_a_patch_changes_nothing(client: Client, stock_contents: Any) -> None:
    lazyentity.unpatch()
    with lazyentity.eager():
        assert read(client) == {"classes": [STOCK], "contents": stock_contents}


def test_patching_inside_is_in_effect_after(client: Client) -> None:
    lazyentity.unpatch()
    with lazyentity.eager():
        lazyentity.patch()
        assert one(client) == STOCK
    assert one(client) == LAZY


def test_other_threads_stay_lazy(client: Client) -> None:
    """Whether they were started before or inside, and while this one is inside."""
    asked, answered = threading.Event(), threading.Event()
    seen: list[str] = []

    def started_before() -> None:
        asked.wait(30)
        seen.append(one(client))
        answered.set()

    thread = threading.Thread(target=started_before)
    thread.start()
    with lazyentity.eager():
        asked.set()
        assert answered.wait(30)
        assert one(client) == STOCK
        inner = threading.Thread(target=lambda: seen.append(one(client)))
        inner.start()
        inner.join()
    thread.join()
    assert seen == [LAZY, LAZY]


def test_an_eager_thread_leaves_this_one_lazy(client: Client) -> None:
    inside, done = threading.Event(), threading.Event()
    seen: list[str] = []

    def eager_thread() -> None:
        with lazyentity.eager():
            inside.set()
            done.wait(30)
            seen.append(one(client))

    thread = threading.Thread(target=eager_thread)
    thread.start()
    assert inside.wait(30)
    assert one(client) == LAZY
    done.set()
    thread.join()
    assert seen == [STOCK]


def test_asyncio_tasks_choose_for_themselves(client: Client) -> None:
    """A task is eager if it says so, or was started inside; the others are not disturbed."""

    async def main() -> dict[str, str]:
        everyone_is_inside = asyncio.Barrier(3) if hasattr(asyncio, "Barrier") else None
        seen: dict[str, str] = {}

        async def meet() -> None:
            if everyone_is_inside is not None:
                await everyone_is_inside.wait()
            else:
                await asyncio.sleep(0)

        async def eager_task() -> None:
            with lazyentity.eager():
                await meet()
                seen["eager"] = one(client)
                await meet()

        async def lazy_task(name: str) -> None:
            await meet()
            seen[name] = one(client)
            await meet()

        eager = asyncio.create_task(eager_task())
        lazy = asyncio.create_task(lazy_task("lazy"))
        with lazyentity.eager():
            inherited = asyncio.create_task(lazy_task("started inside"))
        seen["main"] = one(client)
        await asyncio.gather(eager, lazy, inherited)
        return seen

    assert asyncio.run(main()) == {
        "eager": STOCK,
        "lazy": LAZY,
        "started inside": STOCK,
        "main": LAZY,
    }


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

    def test_a_page_fetched_inside_stays_stock_outside(self, paged: Client) -> None:
        """And the next page, fetched outside, is lazy; whole pages, converted when reached."""
        iterator = iter(paged.query(kind=KIND, order=["number"]).fetch())
        with lazyentity.eager():
            entities = [next(iterator)]
        entities += iterator
        assert [entity["number"] for entity in entities] == list(range(5))
        assert [entity_types(entity) for entity in entities] == [{STOCK}] * 2 + [{LAZY}] * 3

    def test_a_page_fetched_outside_stays_lazy_inside(self, paged: Client) -> None:
        iterator = iter(paged.query(kind=KIND, order=["number"]).fetch())
        entities = [next(iterator)]
        with lazyentity.eager():
            entities += iterator
        assert [entity["number"] for entity in entities] == list(range(5))
        assert [entity_types(entity) for entity in entities] == [{LAZY}] * 2 + [{STOCK}] * 3

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
