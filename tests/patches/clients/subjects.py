"""The clients and their parts, each with a read that shows whether reads are lazy.

Each read takes the property ``number`` of every entity that it gives. Importing this module imports
neither a client nor lazyentity.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

KIND = "Ordered"
"""Kind of the entity, and collection of the document, that servers have with the id 1."""

OVER_HTTP = "datastore.http"
"""The subject that is no part of its client, but the whole over the other transport."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A client, or a part of a client.

    Attributes:
        name: that of its description: the client's, for a part with the part's behind a dot, as
            for another transport.
        module: the module whose import starts the patching.
        is_lazy: reads from the server at a port; whether the result is lazy.
        server: ``grpc`` or ``http`` for a Datastore server that speaks it, ``documents`` for one of
            Firestore. Empty for a subject that converts a message by itself.
        reads_eagerly: whether eager mode shows in the read. Beam's connector converts entities that
            another client has read.
        entities: how many the read gives.
        counts_stock: whether a profile counts stock entities, too. The clients of the REST API, and
            App Engine's ndb, make these alone.
        reader: the file whose line sends the read.
    """

    name: str
    module: str
    is_lazy: Callable[[int], bool]
    server: str = ""
    reads_eagerly: bool = True
    entities: int = 1
    counts_stock: bool = True
    reader: str = __file__

    @property
    def client(self) -> Any:
        """The name that ``patch()`` takes."""
        return self.name.partition(".")[0]


def _datastore(transport: str, port: int) -> bool:
    from tests.support.clients import close, make_client

    client = make_client(port, transport)
    found: Any = client.get(client.key(KIND, 1))
    close(client)
    assert found["number"] == 1
    return _class_name(found) == "LazyEntity"


@functools.cache
def _ndb_model() -> Any:
    ndb = importlib.import_module("google.cloud.ndb")
    return type(KIND, (ndb.Expando,), {"number": ndb.IntegerProperty()})


@functools.cache
def _ndb_client(port: int) -> Any:
    ndb = importlib.import_module("google.cloud.ndb")
    from google.cloud.environment_vars import GCD_HOST

    from tests.support.clients import PROJECT

    with mock.patch.dict(os.environ, {GCD_HOST: f"127.0.0.1:{port}"}):
        return ndb.Client(project=PROJECT)


def _ndb(port: int) -> bool:
    with _ndb_client(port).context():
        (fetched,) = _ndb_model().query().fetch(1)
    with _ndb_client(port).context():
        found = _ndb_model().get_by_id(1)
    assert (fetched.number, found.number) == (1, 1)
    (is_lazy,) = {_class_name(each._values) == "LazyValues" for each in (fetched, found)}
    return is_lazy


def _rest(name: Any, port: int) -> bool:
    from tests.patches.rest.clients import RestClient
    from tests.patches.rest.reads import entities_of

    client = RestClient(name)
    with client.connected(port) as call:
        first, *_ = entities_of(call("lookup", [client.key(KIND, 1)]))
    assert first.properties["number"] == 1
    return _class_name(first.properties) == "LazyProperties"


def _firestore(port: int) -> bool:
    from google.auth.credentials import AnonymousCredentials
    from google.cloud import firestore

    with mock.patch.dict(os.environ, {"FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{port}"}):
        client: Any = firestore.Client(project="p", credentials=AnonymousCredentials())
        snapshot = client.document(f"{KIND}/1").get()
    client._firestore_api_internal.transport.close()
    is_lazy = "_data" not in vars(snapshot)
    assert snapshot.to_dict() == {"number": 1}
    return is_lazy


def _beam(_port: int) -> bool:
    from apache_beam.io.gcp.datastore.v1new import types

    import lazyentity
    from tests.profiling.receiving import Response
    from tests.support.strategies.samples import serialise

    (entity,) = Response(lazyentity.backend, [serialise({"number": 1}, kind=KIND)]).entities()
    element = types.Entity.from_client_entity(entity)
    assert element.properties["number"] == 1
    return _class_name(element) == "LazyElement"


def _entity_proto() -> Any:
    from google.appengine.datastore.entity_bytes_pb2 import EntityProto

    message = EntityProto()
    message.key.app = "lazy-app"
    message.key.path.element.add(type=KIND, id=1)
    message.entity_group.element.add(type=KIND, id=1)
    message.property.add(name="number").value.int64Value = 1
    message.property.add(name="unread").value.int64Value = 2
    return message


def _in_application(read: Callable[[], Any]) -> Any:
    names = {"APPLICATION_ID": "lazy-app", "GAE_APPLICATION": "lazy-app"}
    with mock.patch.dict(os.environ, names):
        return read()


def _appengine(_port: int) -> bool:
    from google.appengine.api import datastore

    found = _in_application(lambda: datastore.Entity._FromPb(_entity_proto()))
    # Of several reads of a property, a profile counts the first.
    assert found["number"] == found["number"] == found.get("number") == 1
    return _class_name(found) == "LazyEntity"


@functools.cache
def _db_models() -> list[Any]:
    from google.appengine.ext import db

    bases: list[Any] = [db.Model, db.Expando]
    return [
        type(each)(KIND, (each,), {name: db.IntegerProperty() for name in ("number", "unread")})
        for each in bases
    ]


def _appengine_db(_port: int) -> bool:
    from google.appengine.api import datastore

    def read() -> list[Any]:
        from_pb = datastore.Entity._FromPb
        return [kind.from_entity(from_pb(_entity_proto())) for kind in _db_models()]

    models = _in_application(read)
    are_lazy = [_class_name(each.__dict__) == "LazyAttributes" for each in models]
    assert [each.number for each in models] == [1, 1]
    return all(are_lazy)


@functools.cache
def _appengine_ndb_model() -> Any:
    from google.appengine.ext import ndb

    properties = {name: ndb.IntegerProperty() for name in ("number", "unread")}
    return type(ndb.Model)(KIND, (ndb.Model,), properties)


def _appengine_ndb(_port: int) -> bool:
    found = _in_application(lambda: _appengine_ndb_model()._from_pb(_entity_proto()))
    assert found.number == 1
    return _class_name(found._values) == "AppEngineValues"


def _class_name(value: object) -> str:
    return type(value).__name__


SUBJECTS = {
    subject.name: subject
    for subject in (
        *(
            Subject(
                name=name,
                module="google.cloud.datastore",
                is_lazy=functools.partial(_datastore, transport),
                server=transport,
            )
            for name, transport in (("datastore", "grpc"), (OVER_HTTP, "http"))
        ),
        Subject(name="ndb", module="google.cloud.ndb", is_lazy=_ndb, server="grpc", entities=2),
        Subject(name="appengine", module="google.appengine.api.datastore", is_lazy=_appengine),
        Subject(
            name="appengine.db", module="google.appengine.ext.db", is_lazy=_appengine_db, entities=2
        ),
        Subject(
            name="appengine.ndb",
            module="google.appengine.ext.ndb",
            is_lazy=_appengine_ndb,
            counts_stock=False,
        ),
        *(
            Subject(
                name=name,
                module=f"{name.replace('-', '.')}.datastore",
                is_lazy=functools.partial(_rest, name),
                server="http",
                counts_stock=False,
                reader=str(Path(__file__).parents[1] / "rest" / "clients.py"),
            )
            for name in ("gcloud-aio", "gcloud-rest")
        ),
        Subject(
            name="beam",
            module="apache_beam.io.gcp.datastore.v1new.datastoreio",
            is_lazy=_beam,
            reads_eagerly=False,
            reader=str(Path(__file__).parents[2] / "profiling" / "receiving.py"),
        ),
        Subject(
            name="firestore",
            module="google.cloud.firestore",
            is_lazy=_firestore,
            server="documents",
        ),
    )
}
"""Every subject by its name."""
