"""Reads of App Engine's bundled client: canned responses in, entities or models out, then reads.

The models are of google.appengine.ext.db and of google.appengine.ext.ndb.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import operator
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from google.appengine.api import datastore
from google.appengine.datastore import entity_bytes_pb2
from google.appengine.ext import db, ndb
from google.appengine.ext.ndb import context, model, polymodel, tasklets

from lazyentity.bench.cases import appengine, synthetic
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import Conversion
from lazyentity.bench.harness.timing import Budget, Comparison, Task
from lazyentity.bench.subjects import conversion
from lazyentity.patches.appengine.seams import CLIENT

COUNT = 100
LISTS = 25
READS = ("0", "4", "all")

CONTEXTS = sides.contexts(*(part.patch for part in CLIENT.with_parts()))
"""The contexts in which the sides run."""


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
    prepare: Callable[[appengine.Canned], Callable[[], list[Any]]]
    read: Callable[[Any, str], Any]
    contents: Callable[[Any], Any]


def _get(canned: appengine.Canned) -> Callable[[], list[Any]]:
    return functools.partial(datastore.Get, canned.keys())


def _from_pb(canned: appengine.Canned) -> Callable[[], list[Any]]:
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

_OF_DB: dict[type, Callable[[], Any]] = {
    bool: db.BooleanProperty,
    bytes: db.ByteStringProperty,
    datetime.datetime: db.DateTimeProperty,
    float: db.FloatProperty,
    int: db.IntegerProperty,
    str: db.StringProperty,
}
_OF_NDB: dict[type, Callable[[], Any]] = {
    bool: ndb.BooleanProperty,
    bytes: functools.partial(ndb.BlobProperty, indexed=True),
    datetime.datetime: ndb.DateTimeProperty,
    float: ndb.FloatProperty,
    int: ndb.IntegerProperty,
    str: ndb.StringProperty,
}


def _model_class(base: Any, kinds: Mapping[type, Callable[[], Any]], properties: int) -> Any:
    """Define a model of the benchmark's kind, with the properties of its mixed entities.

    Both libraries look classes up by kind, and find the class made last.
    """
    values = appengine.MIX.entity(properties, 0)
    made = {name: kinds[type(value)]() for name, value in values.items()}
    return type(base)(synthetic.KIND, (base,), {"__module__": __name__, **made})


def _db_get(canned: appengine.Canned) -> Callable[[], list[Any]]:
    _model_class(db.Model, _OF_DB, canned.properties)
    return functools.partial(db.get, canned.keys())


def _db_contents(made: Any) -> Any:
    return made.key(), db.to_dict(made), db.model_to_protobuf(made)


DB_CALLS: dict[Call, tuple[str, ...]] = {Call("db.get", _db_get, getattr, _db_contents): READS}


def _enter_context() -> None:
    """Enter a context of ndb that has nothing cached."""
    tasklets.set_context(context.Context(model.make_connection()))


def _ndb_query(canned: appengine.Canned, base: Any = ndb.Model) -> Callable[[], list[Any]]:
    model_class = _model_class(base, _OF_NDB, canned.properties)

    def fetch() -> list[Any]:
        _enter_context()
        return list(model_class.query().fetch())

    return fetch


def _ndb_get_multi(canned: appengine.Canned, **options: Any) -> Callable[[], list[Any]]:
    _model_class(ndb.Model, _OF_NDB, canned.properties)
    keys = [ndb.Key(reference=message.key) for message in canned.messages]

    def get() -> list[Any]:
        _enter_context()
        return list(ndb.get_multi(keys, **options))

    return get


_ndb_get_stored = functools.partial(_ndb_get_multi, use_memcache=False)


def _ndb_change(canned: appengine.Canned) -> Callable[[], list[Any]]:
    get = _ndb_get_stored(canned)
    name = next(iter(appengine.MIX.entity(canned.properties, 0)))

    def change() -> list[Any]:
        models = get()
        for each in models:
            setattr(each, name, getattr(each, name))
        ndb.put_multi(models, use_memcache=False)
        return models

    return change


def _ndb_from_pb(canned: appengine.Canned) -> Callable[[], list[Any]]:
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
    canned: appengine.Canned
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
    with appengine.serving(**case.canned.answers):
        yield Comparison(tasks, check, CONTEXTS)


mixed = functools.partial(appengine.canned, COUNT)
lists = functools.partial(appengine.canned, LISTS, mix=appengine.LISTS)
"""Make the entities that are read."""


def select(
    calls: Mapping[Call, Sequence[str]], canned: Callable[[], appengine.Canned] = mixed
) -> list[Callable[[], AppCase]]:
    """Makers of the cases of calls, which read so much of the entities each."""

    def making(call: Call, read: str) -> Callable[[], AppCase]:
        return lambda: AppCase(call, canned(), read)

    return [making(call, read) for call, reads in calls.items() for read in reads]


def measure(case: AppCase, budget: Budget) -> Conversion:
    """Time ``case`` by the CPU time of the process, which answers the RPCs itself."""
    with comparison(case) as compared:
        timed = compared.timed(budget, time.process_time)
    made = case.canned
    shape = {"properties": made.properties, "read": case.read, "wire_bytes": made.wire_bytes}
    return conversion.line(timed, made.entities, mix=case.call.name, **shape)
