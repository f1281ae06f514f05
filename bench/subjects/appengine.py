"""Reads of App Engine's bundled client: canned responses in, entities or models out, then reads.

The models are of google.appengine.ext.db and of google.appengine.ext.ndb. The entities come from
`lazyentity.bench.cases.synthetic`, in App Engine's own encoding.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import operator
import os
import time
import unittest.mock
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.appengine.api import apiproxy_rpc, apiproxy_stub_map, datastore, datastore_types
from google.appengine.api.memcache import memcache_service_pb2
from google.appengine.datastore import datastore_v3_bytes_pb2, entity_bytes_pb2
from google.appengine.ext import db, ndb
from google.appengine.ext.ndb import context, model, polymodel, tasklets

from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import Conversion
from lazyentity.bench.harness.timing import Budget, Comparison, Task
from lazyentity.bench.subjects import conversion
from lazyentity.patches.appengine.seams import CLIENT

APP = "bench"
COUNT = 100
READS = ("0", "4", "all")

CONTEXTS = sides.contexts(*(part.patch for part in CLIENT.with_parts()))
"""The contexts in which the sides run."""

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


def _entity(mix: synthetic.Mix, properties: int, number: int) -> Any:
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
def canned(properties: int = COUNT, entities: int = COUNT, mix: synthetic.Mix = MIX) -> Canned:
    """Make so many entities, of so many properties each, and the responses."""
    messages = tuple(_entity(mix, properties, number)._ToPb() for number in range(entities))
    query = datastore_v3_bytes_pb2.QueryResult(more_results=False, result=messages)
    raw_query = query.SerializeToString()
    datastore_answers = {"Get": _found(messages), "Put": _put, "RunQuery": lambda _: raw_query}
    answers = {"datastore_v3": datastore_answers, "memcache": {"Get": lambda _: b"", "Set": _set}}
    return Canned(mix, properties, messages, answers)


canned_lists = functools.partial(canned, entities=25, mix=LISTS)


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


def _set(request: Any) -> bytes:
    kind = memcache_service_pb2.MemcacheSetResponse
    raw: bytes = kind(set_status=[kind.STORED] * len(request.item)).SerializeToString()
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


@dataclass(frozen=True)
class Call:
    """A way to read the canned entities.

    Attributes:
        name: as results and goals call it.
        prepare: called once, before the service answers; returns the function to time, which
            returns the objects that it has read.
        read: reads one attribute or property of such an object.
        contents: gives everything about an object, to be compared.
    """

    name: str
    prepare: Callable[[Canned], Callable[[], list[Any]]]
    read: Callable[[Any, str], Any]
    contents: Callable[[Any], Any]


def _get(canned: Canned) -> Callable[[], list[Any]]:
    return functools.partial(datastore.Get, canned.keys())


def _from_pb(canned: Canned) -> Callable[[], list[Any]]:
    # Looked up now, because the patch replaces the attribute of the class.
    return lambda: [datastore.Entity._FromPb(message) for message in canned.messages]


def _contents(entity: Any) -> Any:
    return entity.key(), list(entity.items()), entity.unindexed_properties(), entity.ToPb()


CALLS: dict[Call, tuple[str, ...]] = {
    Call("datastore.Get", _get, operator.getitem, _contents): READS,
    Call("Entity._FromPb", _from_pb, operator.getitem, _contents): READS,
}
"""How much is read after each call."""

OF_LISTS: dict[Call, tuple[str, ...]] = {
    Call("Entity._FromPb, lists", _from_pb, operator.getitem, _contents): ("4", "all")
}
"""The same for entities whose properties are lists of eight values."""

_OF_BOTH = {
    bool: "Boolean",
    datetime.datetime: "DateTime",
    float: "Float",
    int: "Integer",
    str: "String",
}
_OF_DB, _OF_NDB = (
    {kind: getattr(module, f"{name}Property") for kind, name in _OF_BOTH.items()}
    for module in (db, ndb)
)
_OF_DB[bytes] = db.ByteStringProperty
_OF_NDB[bytes] = functools.partial(ndb.BlobProperty, indexed=True)


def _model_class(base: Any, kinds: Mapping[type, Callable[[], Any]], properties: int) -> Any:
    """Define a model of the benchmark's kind, with the properties of its mixed entities.

    Both libraries look classes up by kind, and find the class made last.
    """
    values = MIX.entity(properties, 0)
    made = {name: kinds[type(value)]() for name, value in values.items()}
    return type(base)(synthetic.KIND, (base,), {"__module__": __name__, **made})


def _db_get(canned: Canned) -> Callable[[], list[Any]]:
    _model_class(db.Model, _OF_DB, canned.properties)
    return functools.partial(db.get, canned.keys())


def _db_contents(made: Any) -> Any:
    return made.key(), db.to_dict(made), db.model_to_protobuf(made)


DB_CALLS: dict[Call, tuple[str, ...]] = {Call("db.get", _db_get, getattr, _db_contents): READS}


def _enter_context() -> None:
    """Enter a context of ndb that has nothing cached."""
    tasklets.set_context(context.Context(model.make_connection()))


def _ndb_query(canned: Canned, base: Any = ndb.Model) -> Callable[[], list[Any]]:
    model_class = _model_class(base, _OF_NDB, canned.properties)

    def fetch() -> list[Any]:
        _enter_context()
        return list(model_class.query().fetch())

    return fetch


def _ndb_get_multi(canned: Canned, **options: Any) -> Callable[[], list[Any]]:
    _model_class(ndb.Model, _OF_NDB, canned.properties)
    keys = [ndb.Key(reference=message.key) for message in canned.messages]

    def get() -> list[Any]:
        _enter_context()
        return list(ndb.get_multi(keys, **options))

    return get


_ndb_get_stored = functools.partial(_ndb_get_multi, use_memcache=False)


def _ndb_change(canned: Canned) -> Callable[[], list[Any]]:
    get = _ndb_get_stored(canned)
    name = next(iter(MIX.entity(canned.properties, 0)))

    def change() -> list[Any]:
        models = get()
        for each in models:
            setattr(each, name, getattr(each, name))
        ndb.put_multi(models, use_memcache=False)
        return models

    return change


def _ndb_from_pb(canned: Canned) -> Callable[[], list[Any]]:
    model_class = _model_class(ndb.Model, _OF_NDB, canned.properties)
    return lambda: [model_class._from_pb(message) for message in canned.messages]


def _ndb_contents(made: Any) -> Any:
    return made.key, made.to_dict(), made._to_pb()


NDB_CALLS: dict[Call, tuple[str, ...]] = {
    Call("ndb query", _ndb_query, getattr, _ndb_contents): ("1", "all"),
    Call("ndb get_multi", _ndb_get_stored, getattr, _ndb_contents): ("1", "all"),
    Call("ndb get_multi, memcache miss", _ndb_get_multi, getattr, _ndb_contents): ("1",),
    Call("ndb get_multi, put_multi", _ndb_change, getattr, _ndb_contents): ("1",),
    Call("ndb _from_pb", _ndb_from_pb, getattr, _ndb_contents): ("4", "all"),
}

OF_POLYMODELS = Call(
    "ndb query, PolyModel",
    functools.partial(_ndb_query, base=polymodel.PolyModel),
    getattr,
    _ndb_contents,
)
"""A call of the ablation alone."""


@dataclass(frozen=True)
class AppCase:
    """One line of the benchmark: a call, the entities that it reads, and how much of them."""

    call: Call
    canned: Canned
    read: str

    @property
    def names(self) -> tuple[str, ...]:
        """The properties that are read."""
        return synthetic.names_read(self.canned.mix, self.canned.properties, self.read)


def _read_task(case: AppCase) -> Task:
    make, read, names = case.call.prepare(case.canned), case.call.read, case.names

    def read_all() -> list[Any]:
        made = make()
        for each in made:
            for name in names:
                read(each, name)
        return made

    return read_all


@contextlib.contextmanager
def comparison(case: AppCase) -> Iterator[Comparison]:
    """Give the ways of ``case``: stock, lazy and upb_parse; the services answer while inside."""
    raw = [message.SerializeToString() for message in case.canned.messages]
    parse = entity_bytes_pb2.EntityProto.FromString
    contents = case.call.contents

    def check(stock: Sequence[Any], lazy: Sequence[Any]) -> None:
        verify.check_same(list(map(contents, stock)), list(map(contents, lazy)), case.call.name)

    tasks = {
        "stock": _read_task(case),
        "lazy": _read_task(case),
        "upb_parse": lambda: [parse(each) for each in raw],
    }
    with serving(**case.canned.answers):
        yield Comparison(tasks, check, CONTEXTS)


def select(
    calls: Mapping[Call, Sequence[str]], made: Callable[[], Canned] = canned
) -> list[Callable[[], AppCase]]:
    """Makers of the cases of calls, which read so much of the entities each."""

    def making(call: Call, read: str) -> Callable[[], AppCase]:
        return lambda: AppCase(call, made(), read)

    return [making(call, read) for call, reads in calls.items() for read in reads]


def measure(case: AppCase, budget: Budget) -> Conversion:
    """Time ``case`` by the CPU time of the process, which answers the RPCs itself."""
    with comparison(case) as compared:
        timed = compared.timed(budget, time.process_time)
    made = case.canned
    shape = {"properties": made.properties, "read": case.read, "wire_bytes": made.wire_bytes}
    return conversion.line(timed, made.entities, mix=case.call.name, **shape)
