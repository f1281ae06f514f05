"""App Engine's bundled services: canned responses in, entities or models out, then reads.

The models are of google.appengine.ext.db and of google.appengine.ext.ndb. The entities come from
`lazyentity.bench.entities`, in App Engine's own encoding.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import operator
import os
import unittest.mock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.appengine.api import apiproxy_rpc, apiproxy_stub_map, datastore, datastore_types
from google.appengine.datastore import datastore_v3_bytes_pb2
from google.appengine.ext import db, ndb
from google.appengine.ext.ndb import context, model, tasklets

from lazyentity.bench import sides, verify
from lazyentity.bench.entities import KIND, MIXES, names_read
from lazyentity.bench.harness import PER_ENTITY, Case, Comparison, Plan
from lazyentity.patches.appengine.seams import CLIENT

APP = "bench"
ENTITIES = 100

_MIX = MIXES["mixed"]
_PATCHED = sides.patching(*(part.patch for part in CLIENT.with_parts()))

Answer = Callable[[Any], bytes]
"""Makes the serialised response to a request."""


@dataclass(frozen=True)
class Call:
    """A way to read the entities.

    Attributes:
        prepare: called once with the messages of the entities; returns the function to time, which
            returns the objects that it has read.
        read: reads one attribute or property of such an object.
        contents: gives everything about an object, to be compared.
        reads: how much is read, a case each.
    """

    prepare: Callable[[Sequence[Any]], Callable[[], list[Any]]]
    read: Callable[[Any, str], Any]
    contents: Callable[[Any], Any]
    reads: tuple[str, ...]


def cases(plan: Plan) -> Iterator[Case]:
    """The calls, on entities of 100 properties."""
    for name, call in _CALLS.items():
        for read in call.reads:
            make = functools.partial(comparing, call, ENTITIES, 100, read)
            yield Case("calls", name, ENTITIES, 100, f"{read} read", PER_ENTITY, make)


def _message(properties: int, number: int) -> Any:
    """The ``EntityProto`` of a stock entity with the values of entity ``number`` of the mix."""
    made = datastore.Entity(KIND, id=number + 1, _app=APP, namespace="")
    for name, value in _MIX.entity(properties, number).items():
        # This client takes plain bytes for a string.
        made[name] = datastore_types.ByteString(value) if isinstance(value, bytes) else value
    return made._ToPb()


def _answers(messages: Sequence[Any]) -> dict[str, Answer]:
    """The answers of the datastore's service, by method."""
    query = datastore_v3_bytes_pb2.QueryResult(more_results=False, result=messages)
    raw_query = query.SerializeToString()
    return {"Get": _found(messages), "Put": _put, "RunQuery": lambda _: raw_query}


def _found(messages: Sequence[Any]) -> Answer:
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
def serving(answers: Mapping[str, Answer]) -> Iterator[None]:
    """Have the datastore's service answer with canned responses while inside."""
    services = apiproxy_stub_map.APIProxyStubMap()
    services.RegisterStub("datastore_v3", _Service(answers))
    with (
        unittest.mock.patch.object(apiproxy_stub_map, "apiproxy", services),
        unittest.mock.patch.dict(os.environ, {"APPLICATION_ID": APP, "GAE_APPLICATION": APP}),
    ):
        yield


@contextlib.contextmanager
def comparing(call: Call, entities: int, properties: int, read: str) -> Iterator[Comparison]:
    """Give a call, which both sides make; the service answers while inside."""
    names = names_read(_MIX, properties, read)
    messages = [_message(properties, number) for number in range(entities)]
    make = call.prepare(messages)

    def task() -> list[Any]:
        made = make()
        for each in made:
            for name in names:
                call.read(each, name)
        return made

    def check(stock: list[Any], lazy: list[Any]) -> None:
        contents = call.contents
        verify.check_same(list(map(contents, stock)), list(map(contents, lazy)), "contents")

    with serving(_answers(messages)):
        yield Comparison(task, task, check, _PATCHED)


def _keys(messages: Sequence[Any]) -> list[Any]:
    return [datastore_types.Key._FromPb(message.key) for message in messages]


def _get(messages: Sequence[Any]) -> Callable[[], list[Any]]:
    return functools.partial(datastore.Get, _keys(messages))


def _contents(entity: Any) -> Any:
    return entity.key(), list(entity.items()), entity.unindexed_properties(), entity.ToPb()


_NAMES = {
    bool: "Boolean",
    datetime.datetime: "DateTime",
    float: "Float",
    int: "Integer",
    str: "String",
}
_OF_DB, _OF_NDB = (
    {kind: getattr(module, f"{name}Property") for kind, name in _NAMES.items()}
    for module in (db, ndb)
)
_OF_DB[bytes] = db.ByteStringProperty
_OF_NDB[bytes] = functools.partial(ndb.BlobProperty, indexed=True)


def _model_class(base: Any, kinds: Mapping[type, Callable[[], Any]], properties: int) -> Any:
    """Define a model of the benchmark's kind, with the properties of its mixed entities.

    Both libraries look classes up by kind, and find the class made last.
    """
    values = _MIX.entity(properties, 0)
    made = {name: kinds[type(value)]() for name, value in values.items()}
    return type(base)(KIND, (base,), {"__module__": __name__, **made})


def _properties(messages: Sequence[Any]) -> int:
    return len(messages[0].property)


def _db_get(messages: Sequence[Any]) -> Callable[[], list[Any]]:
    _model_class(db.Model, _OF_DB, _properties(messages))
    return functools.partial(db.get, _keys(messages))


def _db_contents(made: Any) -> Any:
    return made.key(), db.to_dict(made), db.model_to_protobuf(made)


def _enter_context() -> None:
    """Enter a context of ndb that has nothing cached."""
    tasklets.set_context(context.Context(model.make_connection()))


def _ndb_query(messages: Sequence[Any]) -> Callable[[], list[Any]]:
    model_class = _model_class(ndb.Model, _OF_NDB, _properties(messages))

    def fetch() -> list[Any]:
        _enter_context()
        return list(model_class.query().fetch())

    return fetch


def _ndb_get(messages: Sequence[Any]) -> Callable[[], list[Any]]:
    _model_class(ndb.Model, _OF_NDB, _properties(messages))
    keys = [ndb.Key(reference=message.key) for message in messages]

    def get() -> list[Any]:
        _enter_context()
        return list(ndb.get_multi(keys, use_memcache=False))

    return get


def _ndb_change(messages: Sequence[Any]) -> Callable[[], list[Any]]:
    get = _ndb_get(messages)
    name = next(iter(_MIX.names(1)))

    def change() -> list[Any]:
        models = get()
        for each in models:
            setattr(each, name, getattr(each, name))
        ndb.put_multi(models, use_memcache=False)
        return models

    return change


def _ndb_contents(made: Any) -> Any:
    return made.key, made.to_dict(), made._to_pb()


_CALLS = {
    "datastore.Get": Call(_get, operator.getitem, _contents, ("0", "4", "all")),
    "db.get": Call(_db_get, getattr, _db_contents, ("0", "4", "all")),
    "ndb query": Call(_ndb_query, getattr, _ndb_contents, ("1", "all")),
    "ndb get_multi": Call(_ndb_get, getattr, _ndb_contents, ("1", "all")),
    "ndb get_multi, put_multi": Call(_ndb_change, getattr, _ndb_contents, ("1",)),
}
