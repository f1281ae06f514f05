"""Every function that is replaced returns what the client's own returns, of the same types."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from google.appengine.api import datastore
from google.appengine.datastore import entity_bytes_pb2
from google.appengine.ext import db, ndb
from google.appengine.ext.ndb import model, polymodel, tasklets, utils

from lazyentity.patches.appengine.entities import LazyEntity
from lazyentity.patches.appengine.ndb.gets import Get
from lazyentity.patches.appengine.seams import CLIENT
from tests.patches.appengine.services import fresh, lazily

pytestmark = pytest.mark.usefixtures("bed")


class Item(ndb.Model):
    name = ndb.StringProperty()
    parts = ndb.StringProperty(repeated=True)


class Sort(polymodel.PolyModel):
    name = ndb.StringProperty()


class Thing(db.Model):
    name = db.StringProperty()


class Open(db.Expando):
    name = db.StringProperty()


def _proto(made: Any) -> Any:
    encode = getattr(made, "_to_pb", None)
    message = made._populate_internal_entity()._ToPb() if encode is None else encode()
    return entity_bytes_pb2.EntityProto.FromString(message.SerializeToString())


ITEM = partial(_proto, Item(id=1, name="a", parts=["b"]))
SORT = partial(_proto, Sort(id=1, name="a"))


def _item() -> Any:
    return Item._from_pb(ITEM())


def _thing() -> Any:
    return db.model_from_protobuf(_proto(Thing(key_name="k", name="a")))


def _open() -> Any:
    return db.model_from_protobuf(_proto(Open(key_name="k", name="a", other="b")))


def _key() -> Any:
    return ndb.Key("Item", 1)


def _tasklet() -> Any:
    future: Any = tasklets.tasklet(lambda: (yield _key().get_async()))()
    future.get_result()
    return future


def _stored() -> Any:
    datastore.Put(datastore.Entity("Item", id=7, _app="lazy-app"))
    return datastore.Get(datastore.Key.from_path("Item", 7, _app="lazy-app"))


CALLS: dict[str, Callable[[], Any]] = {
    "Entity._FromPb": lambda: datastore.Entity._FromPb(ITEM()),
    "BaseConnection._make_rpc_call": _stored,
    "Model.from_entity": _thing,
    "Model.__getattr__": lambda: _thing()._name,
    "Expando.__getattr__": lambda: [_open()._name, _open().other],
    "Property.__get__": lambda: [_thing().name, _item().name, _item().parts, _item().key],
    "Model._to_entity": lambda: _thing()._populate_internal_entity(),
    "Expando._to_entity": lambda: _open()._populate_internal_entity(),
    "Model._from_pb": _item,
    "PolyModel._from_pb": lambda: Sort._from_pb(SORT()),
    "Model._to_pb": lambda: _item()._to_pb(),
    "Model._prepare_for_put": lambda: _item()._prepare_for_put(),
    "AutoBatcher.add": lambda: fresh()._get_batcher.add(_key(), None),
    "Context.get": lambda: fresh().get(_key()),
    "Future._info": lambda: [fresh()._get_batcher.add(_key(), None)._info, _tasklet()._info],
    "get_context": tasklets.get_context,
    "get_stack": lambda: [utils.get_stack(), utils.get_stack(0)],
    "Key.__ne__": lambda: [_key() != _key(), _key().__ne__(5)],
    "Key.__hash__": lambda: hash(_key()),
    "ModelAdapter.pb_to_entity": lambda: model.ModelAdapter().pb_to_entity(ITEM()),
}

EAGER: dict[type, type] = {Get: tasklets.Future}
LAZY: dict[type, type] = {**EAGER, LazyEntity: datastore.Entity}
"""The types in place of the client's, each a subclass: the documentation names them."""


def _types(value: Any, replaced: dict[type, type]) -> Any:
    kind = type(value)
    if kind in (list, tuple):
        return kind, [_types(each, replaced) for each in value]
    return replaced.get(kind, kind)


def test_every_replaced_function_is_called() -> None:
    seams = {seam.path for part in CLIENT.with_parts() for seam in part.seams}
    assert seams == CALLS.keys()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_results_have_the_types_of_the_client(call: Callable[[], Any], eager: bool) -> None:
    """Also of names that came before."""
    fresh()
    expected = _types(call(), {})
    with lazily(eager=eager):
        for _ in range(2):
            assert _types(call(), EAGER if eager else LAZY) == expected
    assert all(issubclass(kind, replaced) for kind, replaced in LAZY.items())


def test_attributes_of_entities_and_models() -> None:
    """Lazy ones have the client's; an entity has further ones, which its class defines."""

    def attributes(value: Any) -> Any:
        return sorted(vars(value)), sorted(dir(value))

    kinds = {
        "model": _item,
        "polymodel": CALLS["PolyModel._from_pb"],
        "db": _thing,
        "expando": _open,
        "entity": CALLS["Entity._FromPb"],
        "received": CALLS["ModelAdapter.pb_to_entity"],
    }
    stock = {kind: attributes(make()) for kind, make in kinds.items()}
    with lazily():
        for kind, make in kinds.items():
            made, listed = attributes(make())
            assert made == stock[kind][0], kind
            extra = set(listed).symmetric_difference(stock[kind][1])
            if kind == "entity":
                own = {name for base in (LazyEntity, *LazyEntity.__mro__) for name in vars(base)}
                assert extra <= own
            else:
                assert extra == set(), kind
