"""get() and get_multi(): found, missing and deferred keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import datastore

from tests.integration.conftest import MakeClient
from tests.integration.endpoints import Endpoint
from tests.integration.sides import Sides
from tests.support.entities import fill

Client = datastore.Client

KIND = "Item"
COUNT = 5


def _key(client: Client, number: int) -> datastore.Key:
    key: datastore.Key = client.key("Parent", "p", KIND, number)
    return key


@pytest.fixture(autouse=True)
def _stored(client: Client) -> None:
    """Items 1 to ``COUNT``, with properties of every type."""
    numbers = range(1, COUNT + 1)
    client.put_multi([fill(datastore.Entity(_key(client, number)), number) for number in numbers])


def _keys(client: Client, *numbers: int) -> list[datastore.Key]:
    return [_key(client, number) for number in numbers]


def _get(client: Client) -> Any:
    return client.get(_key(client, 1))


def _get_absent(client: Client) -> Any:
    return client.get(_key(client, 99))


def _get_with_missing(client: Client) -> Any:
    missing: list[Any] = []
    return client.get(_key(client, 99), missing=missing), missing


def _get_multi(client: Client) -> Any:
    return client.get_multi(_keys(client, 3, 1, 2))


def _get_multi_of_all_and_more(client: Client) -> Any:
    return client.get_multi(_keys(client, 1, 98, 2, 99, 3, 4, 5))


def _get_multi_of_none(client: Client) -> Any:
    return client.get_multi([])


def _get_multi_with_missing(client: Client) -> Any:
    missing: list[Any] = []
    return client.get_multi(_keys(client, 1, 98, 2, 99), missing=missing), missing


def _get_multi_with_deferred(client: Client) -> Any:
    deferred: list[Any] = []
    return client.get_multi(_keys(client, 1, 2, 3, 4, 5), deferred=deferred), deferred


def _get_multi_with_missing_and_deferred(client: Client) -> Any:
    missing: list[Any] = []
    deferred: list[Any] = []
    found = client.get_multi(_keys(client, 99, 1, 98, 2), missing=missing, deferred=deferred)
    return found, missing, deferred


def _get_multi_of_the_same(client: Client) -> Any:
    return client.get_multi(_keys(client, 1, 1))


def _get_eventually(client: Client) -> Any:
    return client.get(_key(client, 1), eventual=True)


@pytest.mark.parametrize(
    "read",
    [
        *(_get, _get_absent, _get_with_missing, _get_eventually),
        *(_get_multi, _get_multi_of_all_and_more, _get_multi_of_none, _get_multi_of_the_same),
        *(_get_multi_with_missing, _get_multi_with_deferred, _get_multi_with_missing_and_deferred),
    ],
    ids=lambda read: read.__name__.strip("_"),
)
def test_read(sides: Sides, read: Callable[[Client], Any]) -> None:
    """A lazy lookup gives the stock client's results, missing and deferred keys included."""
    sides.check(read)


def test_deferred_keys_are_looked_up_or_handed_out(sides: Sides, endpoint: Endpoint) -> None:
    """The client repeats requests after short responses, unless the caller takes deferred keys."""
    found, deferred = sides.check(_get_multi_with_deferred)
    assert len(found) + len(deferred) == COUNT
    assert bool(deferred) is (endpoint.name == "loopback in small batches")
    assert len(sides.check(_get_multi)) == 3


def test_partial_keys_are_refused(sides: Sides) -> None:
    """A key without an id cannot be looked up; the server's error is the stock client's."""
    sides.check(lambda client: client.get(client.key(KIND)), works=False)


def test_other_namespaces(sides: Sides, make_client: MakeClient) -> None:
    """A key decides by itself in which namespace it is looked up."""
    namespace = f"{sides.client.namespace}-other"
    other = make_client(namespace=namespace)
    entity = fill(datastore.Entity(_key(other, 7)), 7)
    other.put(entity)

    def read(client: Client) -> Any:
        return client.get_multi([_key(client, 1), entity.key, _key(client, 7)])

    found = sides.check(read)
    assert {entity.key.namespace for entity in found} == {namespace, sides.client.namespace}


def test_the_default_namespace(
    make_client: MakeClient, endpoint: Endpoint, activation: str
) -> None:
    """An entity without a namespace has a key without one."""
    client = make_client()
    entity = datastore.Entity(client.key("Lookup in the default namespace", 1))
    entity["reference"] = client.key("Other", "name")
    client.put(entity)
    sides = Sides(client, activation, complete=endpoint.is_ours)
    found = sides.check(lambda client: client.get(entity.key))
    assert found.key.namespace is None


def test_another_database(make_client: MakeClient, endpoint: Endpoint, activation: str) -> None:
    """A client of a named database reads there and not in the default one."""
    default = make_client(namespace="databases")
    named = make_client(namespace="databases", database="second")

    def store(client: Client) -> None:
        for number, reader in enumerate((default, named)):
            reader.put(fill(datastore.Entity(reader.key(KIND, number + 1)), number))

    def read(client: Client) -> Any:
        query = client.query(kind=KIND, order=["number"])
        return client.get_multi([client.key(KIND, 1), client.key(KIND, 2)]), list(query.fetch())

    sides = Sides(named, activation, complete=endpoint.is_ours)
    looked_up, queried = sides.check(read, prepare=store)
    if endpoint.is_ours:
        assert [entity.key.id for entity in (*looked_up, *queried)] == [2, 2]
        assert all(entity.key.database == "second" for entity in (*looked_up, *queried))
