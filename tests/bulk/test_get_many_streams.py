"""get_many() of an iterator: errors, transactions, and forks while it is read."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bulk import BulkError, get_many
from tests.bulk.services import RecordingService, stored
from tests.support.forks import answer

Client = datastore.Client
Key = datastore.Key
_KIND = "Item"

pytestmark = pytest.mark.usefixtures("requests_of_three")


def test_iterators_are_read_no_further_than_needed(client: Client) -> None:
    taken = itertools.count()

    def endless() -> Iterator[Key]:
        while True:
            yield client.key(_KIND, next(taken) + 1)

    entities = get_many(client, endless(), concurrency=2)
    assert [next(entities) for _ in range(7)] == [None] * 7
    assert next(taken) <= 7 + 2 + 2 * 3


def test_a_stream_goes_on_after_a_failed_look_up(client: Client, service: RecordingService) -> None:
    keys = stored(client, _KIND, 8)
    service.refuse_id(5)
    entities: Any = get_many(client, iter(keys), concurrency=2)
    assert [next(entities)["number"] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(BulkError) as raised:
        next(entities)
    assert list(raised.value.failed) == keys[3:6]
    assert raised.value.done == {}
    assert raised.value.count == 3
    assert [entity["number"] for entity in entities] == [6, 7]
    assert list(entities) == []


def test_an_error_of_the_iterator_comes_after_the_entities(client: Client) -> None:
    keys = stored(client, _KIND, 4)

    def broken() -> Iterator[Key]:
        yield from keys
        raise OSError("no more keys")

    entities: Any = get_many(client, broken())
    assert [next(entities)["number"] for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(OSError, match="no more keys"):
        next(entities)
    assert list(entities) == []


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


_FORK = """
import os, signal
from lazyentity.bulk import windows

window = windows.Window({concurrency})
window.submit(lambda: 1)
window.submit(lambda: 2)
assert window.take() == 1
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        os._exit(window.take())
    except RuntimeError as error:
        os._exit(7 if "call get_many() again" in str(error) else 8)
_, status = os.waitpid(child, 0)
assert window.take() == 2
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(("concurrency", "expected"), [(2, 7), (1, 2)])
def test_calls_of_the_parent(concurrency: int, expected: int) -> None:
    """A child process has none of the threads, and says so; without threads it goes on."""
    assert answer("-c", _FORK.format(concurrency=concurrency)) == expected
