"""Reads of google.appengine.ext.db: the same entities as models."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from typing import Any

from google.appengine.ext import db

from lazyentity.bench.cases import appengine as cases
from lazyentity.bench.cases import synthetic
from lazyentity.bench.subjects import appengine

_PROPERTIES: dict[type, Callable[[], Any]] = {
    bool: db.BooleanProperty,
    bytes: db.ByteStringProperty,
    datetime.datetime: db.DateTimeProperty,
    float: db.FloatProperty,
    int: db.IntegerProperty,
    str: db.StringProperty,
}


def model_class(properties: int) -> type[Any]:
    """Make a ``Model`` of the benchmark's kind, with the properties of its mixed entities."""
    values = cases.MIX.entity(properties, 0)
    made = {name: _PROPERTIES[type(value)]() for name, value in values.items()}
    # db looks classes up by kind, and finds the class made last.
    made_class: type[Any] = type(db.Model)(synthetic.KIND, (db.Model,), made)
    return made_class


def _get(canned: cases.Canned) -> Callable[[], list[Any]]:
    model_class(canned.properties)
    return functools.partial(db.get, canned.keys())


def _contents(model: Any) -> Any:
    return model.key(), db.to_dict(model), db.model_to_protobuf(model)


CALLS: dict[appengine.Call, tuple[str, ...]] = {
    appengine.Call("db.get", _get, getattr, _contents): appengine.READS
}
