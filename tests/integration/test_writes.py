"""Writing lazy entities back stores the same entities as the stock client."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers

import lazyentity
from tests.integration.conftest import MakeClient, Sides
from tests.integration.rewrites import KIND, REWRITES, Endpoint, prepare, stored, wipe
from tests.support.clients import BEGINS_LATER, close
from tests.support.snapshots import snapshot

Client = datastore.Client

Stored = dict[str, dict[tuple[Any, ...], bytes]]


@pytest.fixture(scope="session")
def namespace() -> str:
    """The namespace of both sides: keys among the stored values are equal then."""
    return f"rewrites-{uuid.uuid4().hex}"


@pytest.fixture(scope="session")
def by_stock(endpoint: Endpoint, transport: str, namespace: str) -> Stored:
    """The entities stored after each rewrite by a stock client."""
    client = endpoint.client(transport, namespace=namespace)
    results = {}
    for name, rewrite in REWRITES.items():
        prepare(client)
        rewrite(client)
        results[name] = stored(client)
    wipe(client)
    close(client)
    return results


@pytest.fixture
def client(make_client: MakeClient, namespace: str) -> Client:
    return make_client(namespace=namespace)


@pytest.mark.parametrize("name", REWRITES)
def test_rewrite(by_stock: Stored, sides: Sides, name: str) -> None:
    """Every stored message is that of the stock client, flags and meanings included."""
    prepare(sides.client)
    with sides.lazily() as client:
        REWRITES[name](client)
    assert stored(sides.client) == by_stock[name]


def test_every_rewrite_is_told_from_the_others(by_stock: Stored) -> None:
    """A comparison that sees no difference would not see a wrong one either."""
    unchanged = {name for name, entities in by_stock.items() if entities == by_stock["nothing"]}
    assert unchanged == {"nothing", "reads", "removed and added again", "exclusion of nothing"}


def test_messages_before_and_after(sides: Sides) -> None:
    """Written back unchanged, an entity is the message that it was read from."""
    prepare(sides.client)
    before = stored(sides.client)
    with sides.lazily() as client:
        client.put_multi(list(client.query(kind=KIND).fetch()))
    assert stored(sides.client) == before


def test_what_is_sent_is_what_stock_would_send(sides: Sides) -> None:
    """helpers.entity_to_protobuf() and raw() give the message of the stock entity."""
    prepare(sides.client)
    key = sides.client.key(KIND, 1)
    stock = helpers.entity_to_protobuf(sides.client.get(key))._pb
    with sides.lazily() as client:
        for touch in (lambda entity: None, dict, lambda entity: entity["inner"]):
            entity = client.get(key)
            touch(entity)
            assert helpers.entity_to_protobuf(entity)._pb == stock
            assert type(stock).FromString(lazyentity.raw(entity)) == stock


def test_insert_with_a_partial_key(sides: Sides) -> None:
    """The id that the server gives arrives in the lazy entity, and finds it again."""
    prepare(sides.client)
    with sides.lazily() as client:
        entity = client.get(client.key(KIND, 1))
        entity.key = client.key(KIND)
        client.put(entity)
        assert entity.key.id not in (None, 1, 2, 3)
        again = client.get(entity.key)
        assert type(again) is lazyentity.LazyEntity
        assert snapshot(again) == snapshot(entity)
        client.delete(entity.key)
        assert client.get(entity.key) is None


@pytest.mark.parametrize("options", [{}, *[{"begin_later": True}] * BEGINS_LATER])
def test_partial_keys_in_a_transaction(sides: Sides, options: dict[str, Any]) -> None:
    """Ids of several new entities arrive when the transaction ends, in the order of the puts."""
    prepare(sides.client)
    with sides.lazily() as client:
        with client.transaction(**options) as transaction:
            entities = client.get_multi([client.key(KIND, number) for number in (1, 2)])
            for entity in entities:
                entity.key = client.key(KIND)
                transaction.put(entity)
                assert entity.key.is_partial
        for entity in entities:
            assert client.get(entity.key)["number"] == entity["number"]


def test_values_without_a_type_are_refused_as_by_stock(sides: Sides) -> None:
    """A value that Datastore has no type for is stock's ValueError, and nothing is written."""

    def put(client: Client) -> Any:
        entity = client.get(client.key(KIND, 1))
        entity["number"] = object()
        client.put(entity)

    raised = sides.check(put, prepare, works=False)
    assert raised.kind is ValueError
    assert sides.client.get(sides.client.key(KIND, 1))["number"] == 1
