"""Whatever a client's guard names may be replaced: it is called as by the stock client."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

import lazyentity
from lazyentity.patches.clients import CLIENTS
from lazyentity.patches.guard import AttributePath
from tests.conftest import INSTALLED
from tests.patches.conftest import Ports
from tests.patches.order_program import COUNT, KIND
from tests.support.snapshots import outcome

Program = Callable[[Ports], Any]

_ADDRESS = re.compile(r"id='\d+'|0x[0-9a-f]+")
# A mock that takes the place of a method calls it without the instance.
_LACKING = re.compile(r"[\w.]+\(\) missing [^\"]*")


def _text(result: Any) -> str:
    """Return the text of a result, without the addresses of mocks and names of arguments."""
    text = _ADDRESS.sub("", repr(result))
    # The pattern takes long in a text without one.
    return _LACKING.sub("missing", text) if " missing " in text else text


def _datastore(ports: Ports) -> Any:
    from google.cloud import datastore
    from google.cloud.datastore import helpers
    from google.cloud.datastore.query import PropertyFilter

    from tests.support.clients import close, make_client
    from tests.support.describing import describe
    from tests.support.entities import fill

    def use(client: Any) -> Iterator[Any]:
        key = client.key("Guarded", 1)
        entity = fill(datastore.Entity(key), 1)
        client.put(entity)
        client.put_multi([entity, fill(datastore.Entity(client.key("Guarded", 2)), 2)])
        client.put(datastore.Entity(client.key("Partial")))
        with client.batch() as batch:
            batch.put(entity)
            batch.delete(client.key("Guarded", 3))
        found = client.get(key)
        yield describe(found)
        yield describe(client.get_multi([client.key(KIND, number + 1) for number in range(COUNT)]))
        query = client.query(kind=KIND, order=["number"])
        query.add_filter(filter=PropertyFilter("number", ">", 0))
        yield describe(list(query.fetch(limit=COUNT)))
        yield [describe(list(page)) for page in client.query(kind=KIND).fetch().pages]
        yield lazyentity.columns(client.query(kind=KIND).fetch(), ["number"])
        with client.transaction():
            found = client.get(key)
            found["number"] = 5
            client.put(found)
        yield describe(helpers.entity_from_protobuf(helpers.entity_to_protobuf(found)._pb))

    used = []
    for transport, port in ports.items():
        client = make_client(port, transport)
        used.append(outcome(lambda: list(use(client))))  # noqa: B023  # called at once
        close(client)
    return used


def _rest(name: Any, ports: Ports) -> Any:
    from tests.patches.rest.clients import RestClient, form, without_times

    client = RestClient(name)

    def use(call: Any) -> Any:
        keys = [client.key(KIND, number + 1) for number in range(COUNT)]
        return without_times(
            form([call("lookup", keys), call("runQuery", client.package.Query(KIND))])
        )

    with client.connected(ports["http"]) as call:
        return outcome(lambda: use(call))


def _beam(_ports: Ports) -> Any:
    from apache_beam.io.gcp.datastore.v1new import types
    from google.cloud.datastore import helpers

    from tests.support.describing import describe

    key = types.Key(["Guarded", 1], project="p")

    def use() -> Any:
        filled: Any = types.Entity(key).to_client_entity()
        filled.update(number=1, text="text", several=[1, "two"])
        raw = helpers.entity_to_protobuf(filled)._pb.SerializeToString()
        element = types.Entity.from_client_entity(lazyentity.LazyEntity.from_bytes(raw))
        element.properties["more"] = 1
        return sorted(element.properties), describe(element.to_client_entity())

    return outcome(use)


def _firestore(_ports: Ports) -> Any:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import firestore
    from google.cloud.firestore_v1 import vector

    from tests.patches.firestore.describing import described
    from tests.patches.firestore.server import DocumentServer

    def use(client: Any) -> Iterator[Any]:
        things = client.collection("things")
        one = things.document("one")
        values = {"a": {"b": [1, firestore.GeoPoint(1.5, 2.5)]}, "v": vector.Vector([1.0])}
        one.set({**values, "n": 1, "link": things.document("two")})
        one.set({"more": "text"}, merge=True)
        one.update({"a.c": 2, "n": 2})
        things.document("two").create({"n": 1, "parts": None})
        things.document("two/parts/three").set({"n": 3})
        found = [*things.stream(), one.get(), *client.collection_group("parts").stream()]
        yield [described(snapshot.to_dict()) for snapshot in found]
        yield found[0].get("a.b"), [snapshot.reference.path for snapshot in found]

    with DocumentServer() as server:
        host = {"FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{server.port}"}
        with mock.patch.dict("os.environ", host):
            client: Any = firestore.Client(project="p", credentials=AnonymousCredentials())
        told = outcome(lambda: list(use(client)))
        client.close()
    return told


@functools.cache
def _ndb_kind() -> Any:
    from google.cloud import ndb

    return type(KIND, (ndb.Model,), {"number": ndb.IntegerProperty(), "text": ndb.TextProperty()})


def _ndb(ports: Ports) -> Any:
    from google.cloud import ndb

    from tests.patches.ndb.clients import make_client

    client, kind = make_client(f"127.0.0.1:{ports['grpc']}"), _ndb_kind()

    def use() -> Iterator[str]:
        with client.context(cache_policy=False):
            found = ndb.get_multi([ndb.Key(KIND, number + 1) for number in range(COUNT)])
            yield repr(found)
            yield repr(kind.query().order(kind.number).fetch())
            # The tests share the entities of the empty namespace.
            found[0].key = ndb.Key(KIND, 1, namespace="guarded")
            found[0].put()
            yield repr(found[0].key.get())

    return outcome(lambda: list(use()))


@functools.cache
def _appengine_kinds() -> tuple[list[Any], Any]:
    """The kinds of db and one of ndb: with properties of all classes that the guards name."""
    from google.appengine.ext import db, ndb
    from google.appengine.ext.db import polymodel

    from lazyentity.patches.appengine.db.seams import VALIDATING
    from lazyentity.patches.appengine.ndb.seams import VALUES

    bases: list[Any] = [db.Model, db.Expando, polymodel.PolyModel]
    of_db: Any = {name: getattr(db, name) for name in VALIDATING if name != "ListProperty"}
    of_db |= {"several": db.StringListProperty, "other": db.ReferenceProperty}
    of_ndb: Any = {name: getattr(ndb, name)() for name in VALUES}
    return [
        type(base)(f"Of{base.__name__}", (base,), {name: made() for name, made in of_db.items()})
        for base in bases
    ], type(ndb.Model)("OfNdb", (ndb.Model,), of_ndb)


def _appengine(_ports: Ports) -> Any:
    from google.appengine.api import datastore
    from google.appengine.ext import db, ndb

    from tests.patches.appengine.ndb.strategies import Address, Cat, Person, shop
    from tests.patches.appengine.services import fresh, services

    of_db, of_ndb = _appengine_kinds()
    values = {"BlobKey": ndb.BlobKey("key"), "Blob": b"b", "Boolean": True, "Float": 1.5}
    values |= {"GeoPt": ndb.GeoPt(1, 2), "Integer": 1, "Key": ndb.Key("OfNdb", 1, app="lazy-app")}

    def use() -> Iterator[Any]:
        entity = datastore.Entity("Guarded", id=1)
        entity.update({"number": 1, "several": [1, 2]})
        found = datastore.Get(datastore.Put(entity))
        yield found["number"], repr(found), found.ToPb()
        for kind in of_db:
            dynamic = {"dynamic": 5} if issubclass(kind, db.Expando) else {}
            put = kind(key_name="one", IntegerProperty=1, several=["a"], **dynamic).put()
            read = db.get(put)
            read.IntegerProperty += 1
            read.put()
            yield [db.to_dict(each) for each in (read, *kind.all())]
        person = Person(id=1, name="n", home=Address(street="Home"), photo=b"photo")
        valued = of_ndb(id=1, **{f"{name}Property": value for name, value in values.items()})
        keys = ndb.put_multi([shop(), Cat(id=1, legs=4), person, valued])
        fresh()
        got = ndb.get_multi(keys)
        got[2].name = "changed"
        ndb.put_multi(got[2:])
        fresh()
        yield got, keys[2].get(), Cat.query().fetch()

    with services(datastore=True):
        fresh()
        return outcome(lambda: _text(list(use())))


PROGRAMS: dict[str, Program] = {
    "datastore": _datastore,
    "ndb": _ndb,
    "gcloud-aio": functools.partial(_rest, "gcloud-aio"),
    "gcloud-rest": functools.partial(_rest, "gcloud-rest"),
    "beam": _beam,
    "firestore": _firestore,
    "appengine": _appengine,
}
"""Calls of each client: their results in a form that shows no laziness."""

CASES = [
    pytest.param(name, path, kind, marks=() if kind == "wrapper" else pytest.mark.slow)
    for name in PROGRAMS
    if name in INSTALLED
    for part in CLIENTS[name].with_parts()
    for path in (*part.guard.names, *part.guard.entries)
    for kind in ("wrapper", "mock", "subclass")
    # A function has none.
    if kind != "subclass" or path.path.rpartition(".")[2].lstrip("_")[:1].isupper()
]

_USED: set[str] = set()
"""The clients whose program has run in this process."""


class _Replacement:
    """A replacement that counts its calls, and takes the place of an attribute.

    Args:
        path: of the attribute.
        kind: ``"wrapper"``, ``"mock"`` or ``"subclass"``.
    """

    def __init__(self, path: AttributePath, kind: str) -> None:
        self.calls = 0
        self._path = path
        self._kind = kind

    def _count(self, function: Any) -> Any:
        def counting(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return function(*args, **kwargs)

        return counting

    def _of_function(self, function: Any) -> Any:
        if self._kind == "mock":
            return mock.MagicMock(side_effect=self._count(function))
        return functools.wraps(function)(self._count(function))

    def _made(self, value: Any) -> Any:
        if isinstance(value, type) and self._kind == "subclass":
            init = self._count(vars(value).get("__init__", object.__init__))
            return type(
                value.__name__, (value,), {"__init__": init, "__module__": value.__module__}
            )
        if isinstance(value, property):
            return property(self._of_function(value.fget))
        if isinstance(value, (classmethod, staticmethod)):
            return type(value)(self._of_function(value.__func__))
        assert callable(value)
        return self._of_function(value)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        holder: Any = importlib.import_module(self._path.module)
        *outer, name = self._path.path.split(".")
        for each in outer:
            # A class that is not there in this version: then nothing calls it.
            holder = getattr(holder, each, object)
        if holder is object:
            yield
            return
        value = vars(holder).get(name)
        if value is None:
            # Inherited, or not there in this version.
            value = inspect.getattr_static(holder, name, lambda: None)
        with mock.patch.object(holder, name, self._made(value), create=True):
            yield


@pytest.fixture
def _responses(client: Any, earlier_objects: None) -> Iterator[None]:
    """Free the responses that an error left unread: aiohttp tells of each."""
    yield
    if client == "gcloud-aio":
        gc.collect()


@pytest.mark.filterwarnings("ignore:Unclosed connection:ResourceWarning")
@pytest.mark.usefixtures("_responses")
@pytest.mark.parametrize(("client", "path", "kind"), CASES, ids=str)
def test_a_replacement_is_called_as_by_stock(
    ports: Ports,
    monkeypatch: pytest.MonkeyPatch,
    client: Any,
    path: AttributePath,
    kind: str,
) -> None:
    program = PROGRAMS[client]
    if client not in _USED:
        # The first use of a client does more than later ones.
        program(ports)
        _USED.add(client)
    stock = _Replacement(path, kind)
    with stock.in_place():
        expected = _text(program(ports))
    before, after = _Replacement(path, kind), _Replacement(path, kind)
    with before.in_place(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        lazyentity.patch(client)
        # That looks names up.
        before.calls = 0
        assert _text(program(ports)) == expected
    lazyentity.unpatch()
    lazyentity.patch(client)
    with after.in_place():
        assert _text(program(ports)) == expected
    assert [before.calls, after.calls] == [stock.calls] * 2
    # The fast paths are taken again.
    assert all(part.guard.is_intact() for part in CLIENTS[client].with_parts())


@pytest.mark.parametrize("client", [name for name in PROGRAMS if name in INSTALLED])
def test_the_program_gives_what_stock_gives(ports: Ports, client: Any) -> None:
    """The comparison above is of something: without a replacement the client is lazy."""
    program = PROGRAMS[client]
    stock = program(ports)
    assert "Raised(" not in _text(stock)
    lazyentity.patch(client)
    assert program(ports) == stock
