"""put_many() and delete_many() alike: commits, retries, errors, iterators, and a single commit."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any
from unittest import mock

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bulk import BulkError, delete_many, put_many
from lazyentity.codec import messages
from lazyentity.patches.api.requests import CommitBytes
from tests.bulk.services import FAST, RecordingService, ids_of, stored

Client = datastore.Client
Entity = datastore.Entity
Key = datastore.Key
_KIND = "Item"


def _entities(client: Client, count: int) -> list[Any]:
    """Return entities that a client stores; these of kind Item are not stored yet."""
    made = [Entity(client.key(_KIND, number)) for number in range(1, count + 1)]
    for number, entity in enumerate(made):
        entity.update(number=number, text="t" * 200)
    return made


class _Put:
    """put_many() of entities that are not stored."""

    call = staticmethod(put_many)
    name = "put_many"

    @staticmethod
    def given(client: Client, count: int) -> list[Any]:
        return _entities(client, count)

    @staticmethod
    def written(client: Client, count: int) -> list[int]:
        """Return the ids of ``count`` given ones that were written."""
        return ids_of(client)


class _Delete:
    """delete_many() of the keys of stored entities."""

    call = staticmethod(delete_many)
    name = "delete_many"

    @staticmethod
    def given(client: Client, count: int) -> list[Any]:
        for first in range(0, count, 500):
            client.put_multi(_entities(client, count)[first : first + 500])
        return [client.key(_KIND, number) for number in range(1, count + 1)]

    @staticmethod
    def written(client: Client, count: int) -> list[int]:
        return sorted(set(range(1, count + 1)).difference(ids_of(client)))


any_write = pytest.mark.parametrize("write", [_Put, _Delete])
any_iterable = pytest.mark.parametrize("iterate", [list, iter])


@any_write
def test_commits_of_500(client: Client, service: RecordingService, write: Any) -> None:
    given = write.given(client, 1_001)
    service.forget()
    write.call(client, given)
    assert sorted(service.sizes("Commit")) == [1, 500, 500]
    assert {call.message.mode for call in service.calls} == {2}
    assert write.written(client, 1_001) == list(range(1, 1_002))


@any_write
def test_retries(any_client: Client, service: RecordingService, write: Any) -> None:
    """Of a commit that was applied, and answered with an error, too."""
    given = write.given(any_client, 2)
    service.forget()
    service.fail_applied_commits()
    write.call(any_client, given, retry=FAST)
    assert service.sizes("Commit") == [2, 2, 2]
    assert write.written(any_client, 2) == [1, 2]


@any_iterable
@any_write
@pytest.mark.usefixtures("requests_of_three")
def test_a_failed_commit_does_not_lose_the_others(
    any_client: Client, service: RecordingService, write: Any, iterate: Callable[[Any], Any]
) -> None:
    given = write.given(any_client, 8)
    service.refuse_id(5)
    with pytest.raises(BulkError) as raised:
        write.call(any_client, iterate(given))
    error = raised.value
    keys = [any_client.key(_KIND, number) for number in range(1, 9)]
    assert list(error.failed) == keys[3:6]
    assert error.count == 5
    assert list(error.done) == ([] if iterate is iter else [*keys[:3], *keys[6:]])
    assert list(error.done.values()) == [
        None if write is _Delete else given[key.id - 1] for key in error.done
    ]
    assert write.written(any_client, 8) == [1, 2, 3, 7, 8]


_OTHER_PROJECT = Key(_KIND, 1, project="another")
_REFUSED: list[tuple[Any, Callable[[Client], object], type[Exception], str]] = [
    (_Put, lambda client: Entity(), ValueError, "must have a key"),
    (_Put, lambda client: Entity(_OTHER_PROJECT), ValueError, "of the project 'another'"),
    (
        _Put,
        lambda client: Entity(Key(_KIND, 1, project=client.project, database="another")),
        ValueError,
        "of the database 'another'",
    ),
    (_Put, lambda client: {"number": 1}, TypeError, "takes a google.cloud.datastore.Entity"),
    (_Put, lambda client: 1, TypeError, "takes a google.cloud.datastore.Entity"),
    (_Delete, lambda client: client.key(_KIND), ValueError, "neither an id nor a name"),
    (_Delete, lambda client: _OTHER_PROJECT, ValueError, "of the project 'another'"),
    (_Delete, lambda client: Entity(), ValueError, "an entity to be deleted must have a key"),
    (_Delete, lambda client: None, TypeError, "takes keys and entities, not NoneType"),
    (_Delete, lambda client: 1, TypeError, "takes keys and entities, not int"),
]


@any_iterable
@pytest.mark.parametrize(("write", "wrong", "kind", "text"), _REFUSED)
def test_refused_ones(
    client: Client,
    service: RecordingService,
    write: Any,
    wrong: Callable[[Client], object],
    kind: type[Exception],
    text: str,
    iterate: Callable[[Any], Any],
) -> None:
    """Of a list, nothing is written; of an iterator, nothing after it."""
    given = write.given(client, 4)
    service.forget()
    with pytest.raises(kind, match=text):
        write.call(client, iterate([*given[:3], wrong(client), given[3]]))
    assert iterate is iter or service.calls == []
    assert 4 not in write.written(client, 4)


@pytest.mark.parametrize(
    ("write", "things"), [(_Put, "iterable of entities"), (_Delete, "keys and entities")]
)
def test_a_single_entity_or_text(
    client: Client, service: RecordingService, write: Any, things: str
) -> None:
    with pytest.raises(TypeError, match=r"not one; pass \[entity\]"):
        write.call(client, Entity(client.key(_KIND, 1)))
    for nothing in ("", b""):
        with pytest.raises(TypeError, match=f"{things}, not {type(nothing).__name__}"):
            write.call(client, nothing)
    assert service.calls == []


@any_write
@pytest.mark.parametrize("context", ["transaction", "batch"])
def test_inside_a_transaction_or_batch(
    client: Client, service: RecordingService, write: Any, context: str
) -> None:
    """Nor is anything written that an iterator gives inside a transaction or batch that it begins.

    The commit of the transaction would not have it.
    """
    given = write.given(client, 6)
    service.forget()
    refused = pytest.raises(RuntimeError, match=rf"{write.name}\(\) .* outside of the {context}")
    with getattr(client, context)(), refused:
        write.call(client, given)
    assert sum(service.sizes("Commit")) == 0

    def begin() -> Generator[Any, None, None]:
        yield from given[:2]
        with getattr(client, context)():
            yield from given[2:4]
        yield from given[4:]

    with contextlib.closing(begin()) as iterator, refused:
        write.call(client, iterator)
    assert 3 not in write.written(client, 6)


@any_write
@pytest.mark.parametrize("transport", ["grpc"])
def test_no_message_is_made(any_client: Client, service: RecordingService, write: Any) -> None:
    """Requests are made of the bytes of their entities, which are neither parsed nor copied."""
    with mock.patch.object(CommitBytes, "_make", side_effect=AssertionError):
        write.call(any_client, _entities(any_client, 3))
    (commit,) = (one.message for one in service.calls if one.method == "Commit")
    assert len(commit.mutations) == 3


def test_an_api_of_another_class_gets_messages(client: Client) -> None:
    """A mock sees what it would see without lazyentity."""
    api = mock.Mock()
    client._datastore_api_internal = api
    (entity,) = _entities(client, 1)
    put_many(client, [entity])
    request = api.commit.call_args.kwargs["request"]
    assert type(request).__name__ == "CommitRequest"
    expected = lazyentity.raw(entity)
    assert request.mutations[0]._pb.upsert == messages.Entity.FromString(expected)


def test_keys_and_entities_are_each_deleted_once(
    any_client: Client, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lazyentity.bulk.writing.MAX_MUTATIONS", 3)
    for iterate in (list, iter):
        keys = stored(any_client, _KIND, 9)
        service.forget()
        delete_many(any_client, iterate([*keys[:6], any_client.get(keys[6]), keys[0], keys[6]]))
        assert ids_of(any_client) == [8, 9]
        assert max(service.sizes("Commit")) == 3
