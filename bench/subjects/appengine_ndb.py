"""Reads and writes through App Engine's ndb: canned responses in, models out, then reads."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from typing import Any

from google.appengine.ext import ndb
from google.appengine.ext.ndb import context, model, polymodel, tasklets

from lazyentity.bench.cases import appengine as cases
from lazyentity.bench.cases import synthetic
from lazyentity.bench.subjects.appengine import Call

_PROPERTIES: dict[type, Callable[[], Any]] = {
    bool: ndb.BooleanProperty,
    bytes: functools.partial(ndb.BlobProperty, indexed=True),
    datetime.datetime: ndb.DateTimeProperty,
    float: ndb.FloatProperty,
    int: ndb.IntegerProperty,
    str: ndb.StringProperty,
}


def _model_class(canned: cases.Canned, base: Any = ndb.Model) -> Any:
    """Define the model of the canned entities."""
    values = cases.MIX.entity(canned.properties, 0)
    properties = {name: _PROPERTIES[type(value)]() for name, value in values.items()}
    return type(base)(synthetic.KIND, (base,), {"__module__": __name__, **properties})


def _keys(canned: cases.Canned) -> list[Any]:
    return [ndb.Key(reference=message.key) for message in canned.messages]


def _enter_context() -> None:
    """Enter a context that has nothing cached."""
    tasklets.set_context(context.Context(model.make_connection()))


def _query(canned: cases.Canned, base: Any = ndb.Model) -> Callable[[], list[Any]]:
    model_class = _model_class(canned, base)

    def fetch() -> list[Any]:
        _enter_context()
        return list(model_class.query().fetch())

    return fetch


def _get_multi(canned: cases.Canned, **options: Any) -> Callable[[], list[Any]]:
    _model_class(canned)
    keys = _keys(canned)

    def get() -> list[Any]:
        _enter_context()
        return list(ndb.get_multi(keys, **options))

    return get


def _change(canned: cases.Canned) -> Callable[[], list[Any]]:
    get = _get_multi(canned, use_memcache=False)
    name = next(iter(cases.MIX.entity(canned.properties, 0)))

    def change() -> list[Any]:
        models = get()
        for each in models:
            setattr(each, name, getattr(each, name))
        ndb.put_multi(models, use_memcache=False)
        return models

    return change


def _from_pb(canned: cases.Canned) -> Callable[[], list[Any]]:
    model_class = _model_class(canned)
    return lambda: [model_class._from_pb(message) for message in canned.messages]


def _contents(made: Any) -> Any:
    return made.key, made.to_dict(), made._to_pb()


CALLS: dict[Call, tuple[str, ...]] = {
    Call("ndb query", _query, getattr, _contents): ("1", "all"),
    Call("ndb get_multi", functools.partial(_get_multi, use_memcache=False), getattr, _contents): (
        "1",
        "all",
    ),
    Call("ndb get_multi, memcache miss", _get_multi, getattr, _contents): ("1",),
    Call("ndb get_multi, put_multi", _change, getattr, _contents): ("1",),
    Call("ndb _from_pb", _from_pb, getattr, _contents): ("4", "all"),
}
"""How much is read after each call."""

OF_POLYMODELS = Call(
    "ndb query, PolyModel",
    functools.partial(_query, base=polymodel.PolyModel),
    getattr,
    _contents,
)
"""A call of the ablation alone."""
