"""The ways to lazy and stock reads of a client, and the forms in which results are compared."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from google.cloud import datastore

import lazyentity
from tests.bulk.services import RecordingService
from tests.patches.order_program import COUNT, KIND
from tests.support.snapshots import snapshot

Client = datastore.Client
Activate = Callable[[Client], Client]


def patched(client: Client) -> Client:
    """Have lazy reads by the patch."""
    lazyentity.patch("datastore")
    return client


def patched_eagerly(client: Client) -> Client:
    """Have stock entities by the patch."""
    lazyentity.patch("datastore", eager=True)
    return client


def wrapped_eagerly(client: Client) -> Client:
    """Have stock entities by a wrapper."""
    return lazyentity.wrap(client, eager=True)


LAZILY: list[Activate] = [patched, lazyentity.wrap]
BY_PATCH: list[Activate] = [patched, patched_eagerly]
ACTIVATIONS: list[Activate] = [*BY_PATCH, lazyentity.wrap, wrapped_eagerly]

Reads = Callable[[Any], list[Any]]


def _keys(client: Any) -> list[Any]:
    return [client.key(KIND, number + 1) for number in range(COUNT)]


def _read_in_transaction(client: Any) -> list[Any]:
    with client.transaction():
        found: list[Any] = client.get_multi(_keys(client))
        return found


READS: dict[str, Reads] = {
    "get": lambda client: [client.get(key) for key in _keys(client)],
    "get_multi": lambda client: client.get_multi(_keys(client)),
    "fetch": lambda client: list(client.query(kind=KIND).fetch()),
    "next": lambda client: [next(iter(client.query(kind=KIND).fetch()))] * COUNT,
    "pages": lambda client: [
        entity for page in client.query(kind=KIND).fetch().pages for entity in page
    ],
    "projection": lambda client: list(
        client.query(kind=KIND, projection=["number", "parity"]).fetch()
    ),
    "another client": lambda client: list(client.query(kind=KIND).fetch(client=client)),
    "in a transaction": _read_in_transaction,
}
"""Give the stored entities."""


def snapshot_of(found: Any) -> Any:
    """Return the form of an entity, of None, or of a list or tuple of these."""
    if isinstance(found, (list, tuple)):
        return [snapshot_of(each) for each in found]
    return snapshot(found)


def outcome_of(
    service: RecordingService, client: Client, read: Callable[[Client], Any], *methods: str
) -> tuple[Any, list[Any]]:
    """Return what a read gives or raises, and the requests of methods that it sends."""
    service.calls.clear()
    try:
        found = read(client)
    except Exception as error:  # noqa: BLE001  # compared with the stock client's
        # The class of a wrapped client is another one.
        found = type(error), str(error).removeprefix("_Lazy")
    requests = [call.message for call in service.calls if call.method in methods]
    for request in requests:
        # Another one each time.
        request.read_options.ClearField("transaction")
    return found, requests


@contextlib.contextmanager
def requests_made(kind: Any, constructor: str, requests: list[Any]) -> Iterator[None]:
    """Add the requests of a class that a constructor makes of bytes meanwhile to a list."""
    make = getattr(kind, constructor)

    def recorded(*args: Any) -> Any:
        requests.append(make(*args))
        return requests[-1]

    with mock.patch.object(kind, constructor, recorded):
        yield
