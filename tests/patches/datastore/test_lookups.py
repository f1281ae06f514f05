"""Look-ups whose keys are sent as bytes: requests, results and errors are the stock client's."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import grpc
import pytest
from google.api_core.exceptions import ServiceUnavailable
from google.api_core.retry import Retry
from google.cloud import datastore
from google.cloud.datastore import client as client_module
from google.cloud.datastore import helpers

import lazyentity
from lazyentity.patches.api.requests import LookupBytes
from tests.bulk.services import FAST, RecordingService, Served, connected, refusal, served
from tests.patches.datastore.activations import (
    ACTIVATIONS,
    Activate,
    outcome_of,
    requests_made,
    snapshot_of,
)
from tests.support.entities import fill

Client = datastore.Client

pytestmark = pytest.mark.any_backend

KIND = "Looked"
COUNT = 7
_AT_ONCE = 3


class TheirKey(datastore.Key):
    """A key of an application."""


_make_key: Any = TheirKey


@pytest.fixture(scope="module")
def running() -> Iterator[Served]:
    """A server that answers at most three keys of a look-up, and defers the others."""
    with served(lookup_limit=_AT_ONCE) as made, connected(made) as client:
        client.put_multi(
            [fill(datastore.Entity(client.key(KIND, at + 1)), at) for at in range(COUNT)]
        )
        yield made


@pytest.fixture
def service(running: Served) -> RecordingService:
    running.service.forget()
    return running.service


@pytest.fixture
def client(running: Served, service: RecordingService, transport: str) -> Iterator[Client]:
    with connected(running, transport) as made:
        yield made


def _keys(client: Client) -> list[Any]:
    return [client.key(KIND, number) for number in range(COUNT + 2, 0, -1)]


def _in_transaction(client: Client) -> Any:
    with client.transaction():
        return client.get_multi(_keys(client))


def _in_given_transaction(client: Client) -> Any:
    with client.transaction() as transaction:
        return client.get_multi(_keys(client), transaction=transaction)


def _in_batch(client: Client) -> Any:
    with client.batch():
        return client.get_multi(_keys(client))


def _with_missing(client: Client) -> Any:
    missing: list[Any] = []
    return client.get_multi(_keys(client), missing=missing), missing


def _with_deferred(client: Client) -> Any:
    deferred: list[Any] = []
    return client.get_multi(_keys(client), deferred=deferred), deferred


_TIME = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)

Read = Callable[[Client], Any]

SENT_AS_BYTES: dict[str, Read] = {
    "get": lambda client: client.get(client.key(KIND, 1)),
    "get of nothing": lambda client: client.get(client.key(KIND, 100)),
    "a list": lambda client: client.get_multi(_keys(client)),
    "a tuple": lambda client: client.get_multi(tuple(_keys(client))),
    "a set": lambda client: client.get_multi(set(_keys(client)[-1:])),
    "keys twice": lambda client: client.get_multi(_keys(client)[-2:] * 2),
    "by name": lambda client: client.get_multi(keys=_keys(client), eventual=False, missing=None),
    "options": lambda client: client.get_multi(_keys(client), retry=FAST, timeout=50),
    "in a batch": _in_batch,
}

SENT_BY_CLIENT: dict[str, Read] = {
    "none": lambda client: client.get_multi([]),
    "an iterator": lambda client: client.get_multi(iter(_keys(client))),
    "keys of a dict": lambda client: client.get_multi(dict.fromkeys(_keys(client)).keys()),
    "no keys": lambda client: client.get_multi([1]),
    "no collection": lambda client: client.get_multi(3),
    "partial": lambda client: client.get_multi([*_keys(client), client.key(KIND)]),
    "of a subclass": lambda client: client.get_multi([_make_key(KIND, 1, project=client.project)]),
    "of another project": lambda client: client.get(datastore.Key(KIND, 1, project="other")),
    "of another database": lambda client: client.get(
        datastore.Key(KIND, 1, project=client.project, database="other")
    ),
    "missing": _with_missing,
    "deferred": _with_deferred,
    "missing is filled": lambda client: client.get_multi(_keys(client), missing=[1]),
    "eventual": lambda client: client.get_multi(_keys(client), eventual=True),
    "a time": lambda client: client.get_multi(_keys(client), read_time=_TIME),
    "a transaction": _in_transaction,
    "a given transaction": _in_given_transaction,
    "an unknown option": lambda client: client.get_multi(_keys(client), nope=1),  # type: ignore[call-arg]  # refused by stock, too,
}


def _outcome(service: RecordingService, client: Client, read: Read) -> tuple[Any, list[Any]]:
    return outcome_of(service, client, lambda given: snapshot_of(read(given)), "Lookup")


@pytest.fixture
def made() -> Iterator[list[Any]]:
    """The requests that are made of bytes."""
    with requests_made(LookupBytes) as requests:
        yield requests


@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("name", SENT_AS_BYTES)
def test_as_stock(
    client: Client, service: RecordingService, made: list[Any], activate: Activate, name: str
) -> None:
    """The same requests, also for keys that the server deferred, and the same entities."""
    read = SENT_AS_BYTES[name]
    stock = _outcome(service, client, read)
    assert not made
    assert _outcome(service, activate(client), read) == stock
    assert len(made) == len(stock[1]) > 0


@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("name", SENT_BY_CLIENT)
def test_by_the_client(
    client: Client, service: RecordingService, made: list[Any], activate: Activate, name: str
) -> None:
    """The client's own code sends anything else, and raises its errors."""
    read = SENT_BY_CLIENT[name]
    stock = _outcome(service, client, read)
    assert _outcome(service, activate(client), read) == stock
    assert not made


@pytest.mark.parametrize("activate", ACTIVATIONS)
def test_a_named_database(
    running: Served, service: RecordingService, transport: str, made: list[Any], activate: Activate
) -> None:
    """Requests name the database and the namespace."""

    def read(client: Client) -> Any:
        return client.get_multi([client.key(KIND, "a", "Child", 1), client.key(KIND, 1)])

    with connected(running, transport, database="named", namespace="n") as client:
        stock = _outcome(service, client, read)
        assert stock[1][0].database_id == "named"
        assert _outcome(service, activate(client), read) == stock
    assert made


def _their_lookup(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError


_WHERE: dict[str, Callable[[Client], Any]] = {
    "the client's function": lambda _: mock.patch.object(
        client_module, "_extended_lookup", _their_lookup
    ),
    "the keys": lambda _: mock.patch.object(datastore.Key, "to_protobuf", _their_lookup),
    "the conversion": lambda _: mock.patch.object(helpers, "entity_from_protobuf", _their_lookup),
    "the API object": lambda client: mock.patch.object(
        client._datastore_api, "lookup", _their_lookup
    ),
    "its class": lambda client: mock.patch.object(
        type(client._datastore_api).__mro__[1], "lookup", _their_lookup
    ),
}


@pytest.mark.parametrize("where", _WHERE)
def test_a_replaced_function_is_called(client: Client, made: list[Any], where: str) -> None:
    """Wherever an application puts one on the way."""
    lazyentity.patch("datastore")
    assert client.get(client.key(KIND, 1)) is not None
    made.clear()
    with _WHERE[where](client), pytest.raises(ZeroDivisionError):
        client.get(client.key(KIND, 1))
    assert not made
    client.get(client.key(KIND, 1))
    assert made


@pytest.mark.parametrize("activate", ACTIVATIONS)
def test_options_by_position(client: Client, service: RecordingService, activate: Activate) -> None:
    def read(client: Client) -> Any:
        return client.get_multi(_keys(client), None, None)

    stock = _outcome(service, client, read)
    assert _outcome(service, activate(client), read) == stock


@pytest.mark.parametrize("activate", ACTIVATIONS)
@pytest.mark.parametrize("transport", ["grpc"])
def test_retries(
    client: Client, service: RecordingService, made: list[Any], activate: Activate
) -> None:
    """The policy of the caller, and the error that it lets through."""
    reading = activate(client)
    service.refuse(grpc.StatusCode.UNAVAILABLE, 2, "Lookup")
    assert reading.get(client.key(KIND, 1), retry=FAST) is not None
    assert len(service.sizes("Lookup")) == 3
    assert len(made) == 1
    service.before = _refused
    never = Retry(predicate=lambda error: False)
    with pytest.raises(ServiceUnavailable):
        reading.get(client.key(KIND, 1), retry=never)


def _refused(_: object) -> None:
    raise refusal(grpc.StatusCode.UNAVAILABLE)
