"""get_many() of an iterator: what it does inside of a transaction that begins later."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bulk import get_many
from tests.bulk.services import RecordingService, stored

pytestmark = [pytest.mark.any_backend, pytest.mark.usefixtures("requests_of_three")]

Client = datastore.Client

_KIND = "Item"


@pytest.mark.parametrize("before", [0, 1, 4])
def test_a_stream_that_is_read_in_a_transaction(
    any_client: Client, service: RecordingService, before: int
) -> None:
    """It reads no keys there, and goes on afterwards with all that were not read before."""
    keys = stored(any_client, _KIND, 12)
    service.forget()
    entities: Any = get_many(any_client, iter(keys), concurrency=1)
    found = [next(entities)["number"] for _ in range(before)]
    with any_client.transaction():
        sent = len(service.sizes("Lookup"))
        with pytest.raises(RuntimeError, match="outside of the transaction"):
            found.extend(entity["number"] for entity in entities)
        # One of the window, whose keys were read before.
        assert len(service.sizes("Lookup")) <= sent + 1
    found.extend(entity["number"] for entity in entities)
    assert found == list(range(12))


def test_an_iterator_that_begins_a_transaction(client: Client, service: RecordingService) -> None:
    """Its keys would be read outside of it."""
    keys = stored(client, _KIND, 6)

    def with_transaction() -> Generator[datastore.Key, None, None]:
        with client.transaction():
            yield from keys

    service.forget()
    with (
        contextlib.closing(with_transaction()) as given,
        pytest.raises(RuntimeError, match="outside of the transaction"),
    ):
        list(get_many(client, given))
    assert service.sizes("Lookup") == []
