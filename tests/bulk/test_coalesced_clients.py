"""The proxy of coalesce(): in bulk calls, its attributes, and the errors of its gets."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

import pytest
from google.api_core.exceptions import BadRequest, Forbidden, RetryError
from google.cloud import datastore

import lazyentity
from lazyentity.bulk import coalesce, delete_many, get_many, put_many, rpcs
from tests.bulk.gathering import Gathered
from tests.bulk.services import RecordingService, stored

pytestmark = pytest.mark.any_backend

Client = datastore.Client

_KIND = "Item"


@pytest.mark.parametrize("is_iterator", [False, True])
def test_get_many(client: Client, *, is_iterator: bool) -> None:
    """The options of a wrapped client hold."""
    keys = stored(client, _KIND, 2)
    wrapped = lazyentity.wrap(client, prefetch=["number"], strict=True)
    coalesced: Any
    for coalesced in (coalesce(wrapped), coalesce(coalesce(wrapped))):  # type: ignore[arg-type]  # a proxy is one
        for entity in get_many(coalesced, iter(keys) if is_iterator else keys):
            assert isinstance(entity, lazyentity.LazyEntity)
            assert lazyentity.decoded(entity) == ("number",)


def test_writes(any_client: Client) -> None:
    coalesced: Any = coalesce(any_client)
    entities = [datastore.Entity(coalesced.key(_KIND, number)) for number in (1, 2)]
    put_many(coalesced, entities)
    delete_many(coalesced, entities[:1])
    assert get_many(any_client, [entity.key for entity in entities]) == [None, entities[1]]
    with coalesced.transaction(), pytest.raises(RuntimeError, match="outside of the transaction"):
        put_many(coalesced, entities)


def test_attributes_are_set_on_the_client(client: Client) -> None:
    coalesced: Any = coalesce(client)
    coalesced.namespace = "tenant"
    assert client.namespace == "tenant"
    assert coalesced.key(_KIND, 1).namespace == "tenant"
    coalesced.note = "mine"
    assert client.note == "mine"  # type: ignore[attr-defined]  # set above
    del coalesced.note
    assert not hasattr(client, "note")
    assert not hasattr(coalesced, "note")


def test_own_attributes_can_be_replaced(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """As tests of an application do: the client keeps its own."""
    (key,) = stored(client, _KIND, 1)
    coalesced: Any = coalesce(client)
    with monkeypatch.context() as patched:
        patched.setattr(coalesced, "get", lambda key: "another")
        assert coalesced.get(key) == "another"
        assert client.get(key)["number"] == 0
    assert coalesced.get(key)["number"] == 0


@pytest.mark.parametrize("is_final", [False, True])
def test_errors_of_a_look_up_are_each_callers_own(
    client: Client, gathered: Gathered, monkeypatch: pytest.MonkeyPatch, *, is_final: bool
) -> None:
    """They are equal, and their tracebacks have no frames of other threads."""
    keys = stored(client, _KIND, 4)
    coalesced: Any = coalesce(client)
    given: Any = Forbidden("refused") if is_final else RetryError("for long", Forbidden("refused"))

    def refuse(*_: object, **__: object) -> Any:
        raise given

    monkeypatch.setattr(rpcs.Rpcs, "look_up", refuse)
    gets = [functools.partial(coalesced.get, key) for key in keys[1:]]
    errors = [future.exception() for future in gathered.run(coalesced, keys[0], gets)]
    assert len(set(map(id, [given, *errors]))) == 4
    for error in errors:
        assert type(error) is type(given)
        assert str(error) == str(given)
        assert error.__dict__ == given.__dict__
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        assert frames[-1] == "get"


def test_a_key_of_another_database(
    client: Client, service: RecordingService, gathered: Gathered
) -> None:
    """Its get is sent alone, so that the look-up of others does not fail with it."""
    keys = stored(client, _KIND, 3)
    other = datastore.Key(_KIND, 1, project=client.project, database="another")
    coalesced: Any = coalesce(client)

    def get_both() -> Any:
        with pytest.raises(BadRequest):
            coalesced.get(other)
        return coalesced.get(keys[1])

    gets: list[Callable[[], Any]] = [get_both, functools.partial(coalesced.get, keys[2])]
    futures = gathered.run(coalesced, keys[0], gets)
    assert [future.result()["number"] for future in futures] == [1, 2]
    assert service.sizes("Lookup") == [1, 1, 2]
