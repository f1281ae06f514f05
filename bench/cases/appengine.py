"""The mixed entities in App Engine's own encoding, and a service that answers with them."""

from __future__ import annotations

import contextlib
import functools
import os
import unittest.mock
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.appengine.api import apiproxy_rpc, apiproxy_stub_map, datastore, datastore_types
from google.appengine.api.memcache import memcache_service_pb2
from google.appengine.datastore import datastore_v3_bytes_pb2

from lazyentity.bench.cases import synthetic

APP = "bench"
ENTITIES = 100
MIX = synthetic.MIXES["mixed"]
LISTS = synthetic.Mix(
    "lists",
    (
        ("scores", lambda number: [number + step for step in range(8)]),
        ("tags", lambda number: [f"tag {number + step}" for step in range(8)]),
    ),
    (0, 1, 0, 1),
)

Answer = Callable[[Any], bytes]
"""Makes the serialised response to a request."""


def entity(mix: synthetic.Mix, properties: int, number: int) -> Any:
    """A stock entity with the values of entity ``number`` of a mix."""
    made = datastore.Entity(synthetic.KIND, id=number + 1, _app=APP, namespace="")
    for name, value in mix.entity(properties, number).items():
        # This client takes plain bytes for a string.
        made[name] = datastore_types.ByteString(value) if isinstance(value, bytes) else value
    return made


@dataclass(frozen=True)
class Canned:
    """Entities and the responses that have them.

    Attributes:
        mix: of the entities.
        properties: of each entity.
        messages: the entities as ``EntityProto`` messages.
        answers: by the name of a service and by its methods.
    """

    mix: synthetic.Mix
    properties: int
    messages: tuple[Any, ...]
    answers: Mapping[str, Mapping[str, Answer]]

    @property
    def entities(self) -> int:
        """How many entities there are."""
        return len(self.messages)

    @property
    def wire_bytes(self) -> int:
        """The mean size of a serialised entity."""
        sizes: list[int] = [message.ByteSize() for message in self.messages]
        return round(sum(sizes) / self.entities)

    def keys(self) -> list[Any]:
        """The keys of the entities."""
        return [datastore_types.Key._FromPb(message.key) for message in self.messages]


@functools.lru_cache(maxsize=3)
def canned(properties: int, entities: int = ENTITIES, mix: synthetic.Mix = MIX) -> Canned:
    """Make so many entities, of so many properties each, and the responses."""
    messages = tuple(entity(mix, properties, number)._ToPb() for number in range(entities))
    query = datastore_v3_bytes_pb2.QueryResult(more_results=False, result=messages)
    raw_query = query.SerializeToString()
    datastore_answers = {"Get": _found(messages), "Put": _put, "RunQuery": lambda _: raw_query}
    answers = {"datastore_v3": datastore_answers, "memcache": {"Get": _missed, "Set": _set}}
    return Canned(mix, properties, messages, answers)


def _found(messages: tuple[Any, ...]) -> Answer:
    """Answer with the entities of the keys that are asked for: clients send several requests."""
    results = {}
    for message in messages:
        response = datastore_v3_bytes_pb2.GetResponse()
        response.entity.add().entity.CopyFrom(message)
        results[message.key.path.element[-1].id] = response.SerializePartialToString()
    end = datastore_v3_bytes_pb2.GetResponse(in_order=True).SerializePartialToString()
    # By request: composing a response is a server's work, which is not measured.
    responses: dict[bytes, bytes] = {}

    def answer(request: Any) -> bytes:
        raw = request.SerializePartialToString()
        if raw not in responses:
            # Protobuf merges concatenated messages.
            found = (results[key.path.element[-1].id] for key in request.key)
            responses[raw] = b"".join([*found, end])
        return responses[raw]

    return answer


def _put(request: Any) -> bytes:
    response = datastore_v3_bytes_pb2.PutResponse(key=[each.key for each in request.entity])
    raw: bytes = response.SerializeToString()
    return raw


def _missed(request: Any) -> bytes:
    return b""


def _set(request: Any) -> bytes:
    response = memcache_service_pb2.MemcacheSetResponse(set_status=[_STORED] * len(request.item))
    raw: bytes = response.SerializeToString()
    return raw


_STORED = memcache_service_pb2.MemcacheSetResponse.STORED


class _Service:
    """Parses a canned response for each call, as the production stub parses what it received."""

    # The client then sends in the thread that waits for the result. Its pool of threads takes as
    # long as the rest of a lazy read, now more and now less, for a service that answers at once.
    THREADSAFE = False

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers

    def MakeSyncCall(  # noqa: N802  # the name that it is called by
        self, service: str, method: str, request: Any, response: Any, request_id: Any = None
    ) -> None:
        response.ParseFromString(self._answers[method](request))

    def CreateRPC(self) -> Any:  # noqa: N802  # the name that it is called by
        return apiproxy_rpc.RPC(stub=self)


@contextlib.contextmanager
def serving(**answers: Mapping[str, Answer]) -> Iterator[None]:
    """Have the services answer with canned responses while inside.

    Args:
        answers: by the name of a service, ``datastore_v3`` or ``memcache``, and by its methods.
    """
    services = apiproxy_stub_map.APIProxyStubMap()
    for name, methods in answers.items():
        services.RegisterStub(name, _Service(methods))
    with (
        unittest.mock.patch.object(apiproxy_stub_map, "apiproxy", services),
        unittest.mock.patch.dict(os.environ, {"APPLICATION_ID": APP, "GAE_APPLICATION": APP}),
    ):
        yield
