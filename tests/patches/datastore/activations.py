"""The ways to lazy and stock reads of a client, and the forms in which results are compared."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from google.cloud import datastore

import lazyentity
from tests.bulk.services import RecordingService
from tests.support.snapshots import snapshot

Client = datastore.Client
Activate = Callable[[Client], Client]


def _patched(client: Client) -> Client:
    lazyentity.patch("datastore")
    return client


def _patched_eagerly(client: Client) -> Client:
    lazyentity.patch("datastore", eager=True)
    return client


def _wrapped_eagerly(client: Client) -> Client:
    return lazyentity.wrap(client, eager=True)


ACTIVATIONS: list[Activate] = [
    _patched,
    _patched_eagerly,
    lazyentity.wrap,
    _wrapped_eagerly,
]


def snapshot_of(found: Any) -> Any:
    """Return the form of an entity, of None, or of a list or tuple of these."""
    if isinstance(found, (list, tuple)):
        return [snapshot_of(each) for each in found]
    return snapshot(found)


def outcome_of(
    service: RecordingService, client: Client, read: Callable[[Client], Any], method: str
) -> tuple[Any, list[Any]]:
    """Return what a read gives or raises, and the requests of a method that it sends."""
    service.calls.clear()
    try:
        found = read(client)
    except Exception as error:  # noqa: BLE001  # compared with the stock client's
        # The class of a wrapped client is another one.
        found = type(error), str(error).removeprefix("_Lazy")
    requests = [call.message for call in service.calls if call.method == method]
    for request in requests:
        # Another one each time.
        request.read_options.ClearField("transaction")
    return found, requests


@contextlib.contextmanager
def requests_made(kind: Any) -> Iterator[list[Any]]:
    """Give the requests of a class that are made of bytes meanwhile."""
    requests: list[Any] = []
    make = kind.of

    def of(*args: Any) -> Any:
        requests.append(make(*args))
        return requests[-1]

    with mock.patch.object(kind, "of", of):
        yield requests
