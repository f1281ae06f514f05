"""The ways to lazy and stock reads of a client, and the forms in which results are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud import datastore

import lazyentity
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
