"""Results beyond the 4 MiB that a gRPC message may have, which arrive in several."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import datastore

from tests.integration.conftest import Sides

Client = datastore.Client

KIND = "Big"
COUNT = 12
SIZE = 500_000


@pytest.fixture(autouse=True)
def _stored(client: Client) -> None:
    for number in range(COUNT):
        entity = datastore.Entity(client.key(KIND, number + 1), exclude_from_indexes=("blob",))
        entity.update({"number": number, "blob": bytes([number]) * SIZE})
        client.put(entity)


def _summary(entities: list[Any]) -> Any:
    """Return enough to tell the entities apart, without comparing 6 MB byte by byte."""
    return [(entity["number"], len(entity["blob"]), entity["blob"][:1]) for entity in entities]


def test_query(sides: Sides) -> None:
    """A query continues over all its batches."""

    def read(client: Client) -> Any:
        return _summary(list(client.query(kind=KIND, order=["number"]).fetch()))

    rows = sides.check(read)
    if sides.complete:
        assert rows == [(number, SIZE, bytes([number])) for number in range(COUNT)]


def test_get_multi(sides: Sides) -> None:
    """Keys that did not fit into the response are deferred, and requested again."""

    def read(client: Client) -> Any:
        keys = [client.key(KIND, number + 1) for number in range(COUNT)]
        return sorted(_summary(client.get_multi(keys)))

    rows = sides.check(read)
    if sides.complete:
        assert rows == [(number, SIZE, bytes([number])) for number in range(COUNT)]


def test_what_does_not_fit_is_deferred(sides: Sides) -> None:
    """A caller that asks for deferred keys gets the entities that fit, and the other keys."""

    def read(client: Client) -> Any:
        keys = [client.key(KIND, number + 1) for number in range(COUNT)]
        deferred: list[Any] = []
        found = client.get_multi(keys, deferred=deferred)
        return sorted(_summary(found)), deferred

    result = sides.check(read)
    if sides.complete:
        found, deferred = result
        assert deferred
        assert len(found) + len(deferred) == COUNT


def test_write_back(sides: Sides) -> None:
    """A big entity is written back whole."""
    with sides.lazily() as client:
        entity = client.get(client.key(KIND, 4))
        entity["number"] = -1
        client.put(entity)
    again = sides.client.get(sides.client.key(KIND, 4))
    assert _summary([again]) == [(-1, SIZE, b"\x03")]
    assert again.exclude_from_indexes == {"blob"}
