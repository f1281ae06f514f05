"""get() and get_multi(): found, missing and deferred keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import datastore

from tests.integration.conftest import MakeClient, Sides
from tests.integration.rewrites import Endpoint
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


def _get_multi(*numbers: int, collecting: tuple[str, ...] = ()) -> Callable[[Client], Any]:
    """Return a look-up of keys that also returns the lists that the client fills."""

    def read(client: Client) -> Any:
        lists: dict[str, list[Any]] = {name: [] for name in collecting}
        return client.get_multi(_keys(client, *numbers), **lists), lists

    return read


DEFERRED = _get_multi(1, 2, 3, 4, 5, collecting=("deferred",))
READS: dict[str, Callable[[Client], Any]] = {
    "get": lambda client: client.get(_key(client, 1)),
    "get absent": lambda client: client.get(_key(client, 99)),
    "get_multi": _get_multi(3, 1, 2),
    "get_multi of all and more": _get_multi(1, 98, 2, 99, 3, 4, 5),
    "get_multi with both": _get_multi(99, 1, 98, 2, collecting=("missing", "deferred")),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_read(sides: Sides, read: Callable[[Client], Any]) -> None:
    """A lazy lookup gives the stock client's results, missing and deferred keys included."""
    sides.check(read)


def test_deferred_keys_are_looked_up_or_handed_out(sides: Sides, endpoint: Endpoint) -> None:
    """The client repeats requests after short responses, unless the caller takes deferred keys."""
    found, lists = sides.check(DEFERRED)
    assert len(found) + len(lists["deferred"]) == COUNT
    assert bool(lists["deferred"]) is (endpoint.name == "loopback in small batches")
    found, _ = sides.check(READS["get_multi"])
    assert len(found) == 3


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
