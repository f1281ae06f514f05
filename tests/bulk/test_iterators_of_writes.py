"""put_many() and delete_many() of an iterator that ends with an error."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bulk import delete_many, put_many
from tests.bulk.services import RecordingService, stored

pytestmark = pytest.mark.any_backend

Client = datastore.Client
Entity = datastore.Entity

_KIND = "Item"


def _then_fail(things: list[Any]) -> Iterator[Any]:
    yield from things
    raise OSError("no more")


def _ids(client: Client) -> list[int]:
    query = client.query(kind=_KIND)
    query.keys_only()
    return sorted(entity.key.id for entity in query.fetch())


@pytest.mark.parametrize("count", [1, 499, 500, 501])
def test_all_before_an_error_are_written(
    any_client: Client, service: RecordingService, count: int
) -> None:
    """Also those of a commit that is not full."""
    entities = [Entity(any_client.key(_KIND, number)) for number in range(1, count + 1)]
    with pytest.raises(OSError, match="no more"):
        put_many(any_client, _then_fail(entities))
    assert sum(service.sizes("Commit")) == count
    assert len(_ids(any_client)) == count
    service.forget()
    with pytest.raises(OSError, match="no more"):
        delete_many(any_client, _then_fail([entity.key for entity in entities]))
    assert sum(service.sizes("Commit")) == count
    assert _ids(any_client) == []


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (Entity(), ValueError),
        (Entity(datastore.Key(_KIND, 1, project="another")), ValueError),
        (1, TypeError),
    ],
)
def test_all_before_a_refused_one_are_written(
    client: Client, wrong: Any, kind: type[Exception]
) -> None:
    """And none after it."""
    keys = stored(client, "Other", 4)
    entities = [Entity(client.key(_KIND, key.id)) for key in keys]
    with pytest.raises(kind):
        put_many(client, iter([*entities[:3], wrong, entities[3]]))
    assert _ids(client) == [1, 2, 3]
    refused = getattr(wrong, "key", wrong)
    with pytest.raises((ValueError, TypeError)):
        delete_many(client, itertools.chain([entities[0].key, refused, entities[1].key]))
    assert _ids(client) == [2, 3]
