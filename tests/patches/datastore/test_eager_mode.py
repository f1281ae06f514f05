"""Stock entities in place of lazy ones: for a stretch of code, a client, or the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore.query import Query
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.patches.api.responses import LookupResponse
from lazyentity.readers import STOCK as STOCK_READER
from tests.patches.conftest import Ports
from tests.patches.order_program import KIND
from tests.support.clients import close, make_client
from tests.support.describing import entity_types
from tests.support.forks import answer
from tests.support.snapshots import snapshot, whole
from tests.support.strategies.samples import RICH

Client = datastore.Client

LAZY, STOCK = "LazyEntity", "Entity"


def one(client: Any) -> str:
    """Read an entity and return the name of its class."""
    return type(client.get(client.key(KIND, 1))).__name__


def queried(query: Any) -> set[str]:
    return {type(entity).__name__ for entity in query.fetch()}


@pytest.fixture(scope="module")
def small_batches() -> Iterator[dict[str, int]]:
    """Ports by transport of a server that sends two entities a batch, and has five."""
    with LoopbackServer(batch_size=2) as server:
        client = make_client(server.grpc_port, "grpc")
        for number in range(5):
            entity = datastore.Entity(client.key(KIND, number + 1))
            inner = datastore.Entity()
            entity.update({"number": number, "inner": inner, "list": [inner]})
            client.put(entity)
        close(client)
        yield {"grpc": server.grpc_port, "http": server.http_port}


class TestInside:
    """eager()."""

    @pytest.fixture
    def query(self, small_batches: dict[str, int], transport: str) -> Iterator[Any]:
        """A query of a patched client, whose results come in pages."""
        client = make_client(small_batches[transport], transport)
        lazyentity.patch()
        yield client.query(kind=KIND, order=["number"])
        close(client)

    @pytest.mark.parametrize("first", [STOCK, LAZY])
    def test_a_page_stays_as_it_was_fetched(self, query: Any, first: str) -> None:
        """Inside or outside; the next page is as it is fetched then."""
        iterator = iter(query.fetch())
        with lazyentity.eager() if first == STOCK else nullcontext():
            entities = [next(iterator)]
        with lazyentity.eager() if first == LAZY else nullcontext():
            entities += iterator
        assert [entity["number"] for entity in entities] == list(range(5))
        then = LAZY if first == STOCK else STOCK
        assert [entity_types(entity) for entity in entities] == [{first}] * 2 + [{then}] * 3


@pytest.mark.parametrize("take", [lambda entity: entity, lambda entity: entity._pb])
@pytest.mark.parametrize("mode", ["lazily", "patched", "inside eager()"])
def test_what_somebody_looked_into(take: Callable[[Any], Any], mode: str) -> None:
    """An entity message that the caller changed is converted with the changes."""
    response = datastore_pb2.LookupResponse.pb()()
    response.found.add().entity.MergeFromString(RICH)
    raw = response.SerializeToString()
    converted = []
    for is_patched in (False, True):
        if is_patched:
            lazyentity.patch(eager=mode == "patched")
            reader = STOCK_READER if mode == "inside eager()" else None
            found = LookupResponse.deserialize(raw, reader).found
        else:
            found = datastore_pb2.LookupResponse.deserialize(raw).found
        entity = take(found[0].entity)
        entity.properties["text"].string_value = "changed"
        # The order of a lazy entity's properties is that of the changed message.
        form = snapshot if mode == "lazily" else whole
        converted.append(form(helpers.entity_from_protobuf(entity)))
    assert converted[0] == converted[1]


@pytest.fixture(params=["unpatched", "lazily", "eagerly"])
def mode(request: pytest.FixtureRequest) -> str:
    if request.param != "unpatched":
        lazyentity.patch(eager=request.param == "eagerly")
    return str(request.param)


class TestWrap:
    """wrap(..., eager=True)."""

    def test_decides_for_itself(self, client: Client, mode: str) -> None:
        """A target wrapped without eager= is lazy, with any patch of the process."""
        wrapped = lazyentity.wrap(client)
        assert one(wrapped) == LAZY
        assert queried(wrapped.query(kind=KIND)) == {LAZY}
        query: Query = client.query(kind=KIND)
        assert queried(lazyentity.wrap(query, eager=True)) == {STOCK}
        assert queried(query) == {LAZY if mode == "lazily" else STOCK}

    def test_wrapping_again(self, client: Client) -> None:
        """Each wrapper keeps its own options; without any, it is returned as it is."""
        lazy = lazyentity.wrap(client)
        eager = lazyentity.wrap(lazy, eager=True)
        assert lazyentity.wrap(eager) is eager
        seen = [one(each) for each in (lazyentity.wrap(eager, eager=False), eager, lazy)]
        assert seen == [LAZY, STOCK, LAZY]

    @pytest.mark.parametrize("options", [{"strict": True}, {"prefetch": ["number"]}])
    def test_with_what_is_for_lazy_reads(self, client: Client, options: Any) -> None:
        with pytest.raises(ValueError, match=r"^wrap\(\) takes either eager=True or prefetch="):
            lazyentity.wrap(client, eager=True, **options)
        assert one(lazyentity.wrap(client, eager=False, **options)) != STOCK
        defaults: Any = {"strict": False, "prefetch": []}
        assert one(lazyentity.wrap(client, eager=True, **defaults)) == STOCK


class TestEnvironment:
    """LAZYENTITY_EAGER."""

    @pytest.mark.parametrize("value", ["1", "true", "yes", "anything"])
    def test_set(self, client: Client, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        """Without eager=False, wrap() is eager, and may have options for lazy reads."""
        monkeypatch.setenv("LAZYENTITY_EAGER", value)
        assert one(lazyentity.wrap(client)) == STOCK
        assert one(lazyentity.wrap(client, prefetch=["number"], strict=True)) == STOCK
        assert one(lazyentity.wrap(client, eager=False)) == LAZY
        lazyentity.patch()
        assert one(client) == STOCK
        assert queried(lazyentity.wrap(client.query(kind=KIND))) == {STOCK}
        lazyentity.patch(eager=False)
        assert one(client) == LAZY

    @pytest.mark.parametrize("value", ["", "0", "false", "No", " off "])
    def test_not_set(self, client: Client, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
        monkeypatch.setenv("LAZYENTITY_EAGER", value)
        lazyentity.patch()
        assert one(client) == one(lazyentity.wrap(client)) == LAZY

    def test_auto(self, ports: Ports, stock_contents: Any) -> None:
        """For the whole process, before anything of it is imported."""
        program = f"""
import json
import lazyentity.auto
from tests.patches.order_program import read
from tests.support.clients import make_client
print(json.dumps(read(make_client({ports["grpc"]}, "grpc"))))
"""
        expected = {"classes": [STOCK], "contents": stock_contents}
        assert answer("-c", program, LAZYENTITY_EAGER="1") == expected
