"""put_many() and delete_many() of an iterator that ends with an error, or begins a transaction."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bulk import delete_many, put_many
from tests.bulk.services import RecordingService, ids_of, stored

pytestmark = pytest.mark.any_backend

Client = datastore.Client
Entity = datastore.Entity

_KIND = "Item"


def _then_fail(things: list[Any]) -> Iterator[Any]:
    yield from things
    raise OSError("no more")


@pytest.mark.parametrize("count", [1, 499, 500, 501])
def test_all_before_an_error_are_written(
    any_client: Client, service: RecordingService, count: int
) -> None:
    """Also those of a commit that is not full."""
    entities = [Entity(any_client.key(_KIND, number)) for number in range(1, count + 1)]
    with pytest.raises(OSError, match="no more"):
        put_many(any_client, _then_fail(entities))
    assert sum(service.sizes("Commit")) == count
    assert len(ids_of(any_client)) == count
    service.forget()
    with pytest.raises(OSError, match="no more"):
        delete_many(any_client, _then_fail([entity.key for entity in entities]))
    assert sum(service.sizes("Commit")) == count
    assert ids_of(any_client) == []


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
    assert ids_of(client) == [1, 2, 3]
    refused = getattr(wrong, "key", wrong)
    with pytest.raises((ValueError, TypeError)):
        delete_many(client, itertools.chain([entities[0].key, refused, entities[1].key]))
    assert ids_of(client) == [2, 3]


def test_an_iterator_that_begins_a_transaction(client: Client, service: RecordingService) -> None:
    """Nothing that it gives inside of it is written: its own commit would not have that."""
    keys = stored(client, _KIND, 6)
    entities = [Entity(key) for key in keys]

    def with_transaction(things: list[Any], context: Any) -> Generator[Any, None, None]:
        yield from things[:2]
        with context:
            yield from things[2:4]
        yield from things[4:]

    for context, word in ((client.transaction(), "transaction"), (client.batch(), "batch")):
        service.forget()
        with (
            contextlib.closing(with_transaction(entities, context)) as given,
            pytest.raises(RuntimeError, match=rf"put_many\(\) .* outside of the {word}"),
        ):
            put_many(client, given)
        assert service.sizes("Commit") == [2]
    with (
        contextlib.closing(with_transaction(keys, client.transaction())) as given,
        pytest.raises(RuntimeError, match=r"delete_many\(\) .* outside of the transaction"),
    ):
        delete_many(client, given)
    assert ids_of(client) == [3, 4, 5, 6]
