"""delete_many(): the mutations and the errors."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.cloud import datastore

from lazyentity.bulk import BulkError, delete_many, writing
from tests.bulk.services import FAST, RecordingService, ids_of, stored

pytestmark = pytest.mark.any_backend

Client = datastore.Client
Key = datastore.Key

_KIND = "Item"


def test_each_kind_of_client(
    any_client: Client, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys and entities, each once."""
    monkeypatch.setattr(writing, "MAX_MUTATIONS", 3)
    for iterate in (list, iter):
        keys = stored(any_client, _KIND, 9)
        service.forget()
        delete_many(any_client, iterate([*keys[:6], any_client.get(keys[6]), keys[0], keys[6]]))
        assert ids_of(any_client) == [8, 9]
        assert max(service.sizes("Commit")) == 3


def test_commits_of_500(client: Client, service: RecordingService) -> None:
    delete_many(client, [client.key(_KIND, number) for number in range(1, 1002)] * 2)
    assert sorted(service.sizes("Commit")) == [1, 500, 500]


def test_retries(any_client: Client, service: RecordingService) -> None:
    keys = stored(any_client, _KIND, 2)
    service.refuse(grpc.StatusCode.ABORTED, 2, "Commit")
    delete_many(any_client, keys, retry=FAST)
    assert ids_of(any_client) == []


def test_failures(client: Client, service: RecordingService) -> None:
    keys = stored(client, _KIND, 501)
    service.refuse(grpc.StatusCode.PERMISSION_DENIED, 1, "Commit")
    with pytest.raises(BulkError) as raised:
        delete_many(client, keys, concurrency=1)
    assert list(raised.value.failed) == keys[:500]
    assert raised.value.done == {keys[500]: None}
    assert ids_of(client) == list(range(1, 501))


def test_inside_a_transaction_or_batch(client: Client) -> None:
    keys = stored(client, _KIND, 1)
    for context, word in ((client.transaction(), "transaction"), (client.batch(), "batch")):
        with context, pytest.raises(RuntimeError, match=f"outside of the {word}"):
            delete_many(client, keys)
    assert ids_of(client) == [1]


def test_refused_keys(client: Client, service: RecordingService) -> None:
    refused: list[tuple[Any, type[Exception], str]] = [
        (client.key(_KIND), ValueError, "neither an id nor a name"),
        (Key(_KIND, 1, project="another"), ValueError, "of the project 'another'"),
        (datastore.Entity(), ValueError, "an entity to be deleted must have a key"),
        (None, TypeError, "takes keys and entities, not NoneType"),
        (1, TypeError, "takes keys and entities, not int"),
    ]
    for wrong, kind, text in refused:
        with pytest.raises(kind, match=text):
            delete_many(client, [client.key(_KIND, 1), wrong])
    with pytest.raises(TypeError, match=r"not one; pass \[entity\]"):
        delete_many(client, datastore.Entity(client.key(_KIND, 1)))
    for nothing in ("", b""):
        with pytest.raises(TypeError, match=f"keys and entities, not {type(nothing).__name__}"):
            delete_many(client, nothing)  # type: ignore[arg-type]  # as a caller may
    assert service.calls == []
