"""Interceptors of an application's channel that answer RPCs themselves."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches.api.responses import LookupResponse
from tests.bulk.services import Served, connected
from tests.patches.datastore.activations import Activate, patched, patched_eagerly, snapshot_of
from tests.patches.datastore.read_cases import KIND, get
from tests.patches.datastore.recording import intercept

Client = datastore.Client

pytestmark = pytest.mark.any_backend


class _Answered:
    """The call of an RPC that an interceptor answered."""

    def __init__(self, response: Any) -> None:
        self._response = response

    def result(self) -> Any:
        """Return the response."""
        return self._response


class _Answering(grpc.UnaryUnaryClientInterceptor):
    """Answers with responses of the client's own class, as one that caches or records may do."""

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Answer a call."""
        kind = getattr(datastore_pb2, details.method.rpartition("/")[2] + "Response")
        return _Answered(kind.deserialize(kind.serialize(continuation(details, request).result())))


class _Refilling(grpc.UnaryUnaryClientInterceptor):
    """Answers a key a round, each time with the same response, filled again."""

    def __init__(self, kinds: Iterable[Any]) -> None:
        self._answers: Any = itertools.cycle([kind.deserialize(b"") for kind in kinds])

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Answer a look-up."""
        response = continuation(details, request).result()
        message = datastore_pb2.LookupResponse.pb().FromString(type(response).serialize(response))
        request = request.pb().FromString(type(request).serialize(request))
        keys = [result.entity.key for result in message.found]
        del message.found[: keys.index(request.keys[0])]
        del message.found[1:]
        message.deferred.extend(request.keys[1:])
        answer = next(self._answers)
        if type(answer) is LookupResponse:
            answer._receive(message.SerializeToString(), None)
        else:
            answer._pb.CopyFrom(message)
        return _Answered(answer)


class _AnsweringOfUpb(grpc.UnaryUnaryClientInterceptor):
    """Answers once with a message of upb that defers all keys, then with one that has them.

    Attributes:
        calls: how often it was called.
    """

    def __init__(self) -> None:
        self.calls = 0

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        """Answer a look-up."""
        self.calls += 1
        if self.calls > 2:
            return continuation(details, request)
        response = continuation(details, request).result()
        message = datastore_pb2.LookupResponse.pb().FromString(type(response).serialize(response))
        keys = [result.entity.key for result in message.found]
        if self.calls == 1:
            message.ClearField("found")
        message.deferred.extend(keys)
        return _Answered(message)


_REFILLED: dict[str, list[Any]] = {
    "the client's": [datastore_pb2.LookupResponse],
    "lazy": [LookupResponse],
    "both": [LookupResponse, datastore_pb2.LookupResponse],
}


@pytest.mark.parametrize("kinds", _REFILLED.values(), ids=_REFILLED)
def test_a_response_that_is_filled_again(running: Served, kinds: list[Any]) -> None:
    """Each round of a look-up has its own entities, in the order of the answers."""
    with connected(running) as client:
        keys = [client.key("Parent", 1, KIND, number) for number in (3, 1, 2)]
        stock = {entity.key: entity for entity in client.get_multi(keys)}
        intercept(running, client, _Refilling(kinds))
        found = lazyentity.wrap(client).get_multi(keys)
        assert [entity.key for entity in found] == keys
        assert found == [stock[key] for key in keys]


def test_answers_of_upb(running: Served) -> None:
    """Deferred keys are sent again; entities are refused after all rounds, as by the client."""
    with connected(running) as client:
        keys = [client.key("Parent", 1, KIND, number) for number in (3, 1, 2)]
        counts = []
        for reading in (client, lazyentity.wrap(client)):
            interceptor = _AnsweringOfUpb()
            intercept(running, client, interceptor)
            with pytest.raises(AttributeError, match="_pb"):
                reading.get_multi(keys)
            counts.append(interceptor.calls)
        assert counts == [3, 3]


WAYS: dict[str, Activate] = {
    "patched": patched,
    "patched, eager": patched_eagerly,
    "wrapped": lazyentity.wrap,
    "wrapped, prefetch": lambda client: lazyentity.wrap(client, prefetch=["number"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_interceptor_that_answers(running: Served, way: str) -> None:
    """Its response is not lazy."""

    def read(client: Client) -> Any:
        keys = [client.key("Parent", 1, KIND, number) for number in (1, 2, 3)]
        return get(client), snapshot_of([*client.get_multi(keys), *client.query(kind=KIND).fetch()])

    with connected(running) as client:
        intercept(running, client, _Answering())
        stock = read(client)
        intercept(running, client, _Answering())
        reading = WAYS[way](client)
        assert read(reading) == stock
        with lazyentity.eager():
            assert read(reading) == stock
