"""A model as ndb makes it and a model as the patch makes it, of the same bytes."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from google.appengine.api import users
from google.appengine.datastore.entity_bytes_pb2 import EntityProto
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model

from lazyentity.patches.appengine.ndb.seams import PART
from lazyentity.patches.appengine.ndb.values import AppEngineValues
from tests.patches.models.pairs import ModelPair, applied, model_form, stopped_clocks
from tests.support.snapshots import Raised, outcome

_ADAPTER = model.ModelAdapter()


def patched() -> AbstractContextManager[None]:
    """Have ndb patched; around this, nothing is."""
    return applied(PART.patch)


def converted(raw: bytes) -> Any:
    """Make a model of a serialised entity as reads do."""
    entity = EntityProto()
    entity.MergeFromString(raw)
    return _ADAPTER.pb_to_entity(entity)


def stock_model(raw: bytes) -> Any:
    """Make a model with nothing patched."""
    assert not PART.patch.active
    return converted(raw)


def lazy_model(raw: bytes) -> Any:
    """Make a model under the patch, of names that came before."""
    with patched():
        for _ in range(2):
            outcome(converted, raw)
        return converted(raw)


def written(entity: Any) -> Any:
    """Return the message that ``put`` sends, as text."""
    with fixed_now():
        entity._prepare_for_put()
    return str(entity._to_pb())


def seen(call: Callable[[], Any]) -> Any:
    """Return the result of ``call``, as :func:`snapshot`, or its error."""
    return outcome(lambda: snapshot(call()))


class Pair(ModelPair):
    """A model of each side, to which the same is done."""

    patched = staticmethod(patched)
    stock_model = staticmethod(stock_model)
    lazy_model = staticmethod(lazy_model)
    written = staticmethod(written)
    seen = staticmethod(seen)


def fixed_now() -> AbstractContextManager[None]:
    """Stop the clock of the properties that are set when a model is written."""
    return stopped_clocks(model, "_now")


_SIMPLE = (bool, int, str, bytes, type(None), datetime.datetime, datetime.date, datetime.time, set)


def snapshot(value: Any) -> Any:
    """Return ``value`` in a form that is equal only to that of an indistinguishable value.

    Lazy values give the form of stock dicts: that is the one difference allowed. All of them is
    read.
    """
    kind: Any = type(value)
    if isinstance(value, ndb.Model):
        return model_form(value, snapshot, described)
    if kind is EntityProto:
        return kind, str(value)
    if kind in (list, tuple):
        return kind, [snapshot(item) for item in value]
    if kind in (dict, AppEngineValues):
        return dict, {name: snapshot(item) for name, item in value.items()}
    if kind is float:
        return kind, struct.pack("<d", value)
    if kind is model._BaseValue:
        return kind, snapshot(value.b_val)
    if kind is model._CompressedValue:
        return kind, value.z_val
    if kind is ndb.Key:
        return kind, value.pairs(), value.app(), value.namespace(), str(value.reference())
    if kind is ndb.GeoPt:
        return kind, snapshot(value.lat), snapshot(value.lon)
    if kind in (users.User, ndb.BlobKey):
        return kind, {name: snapshot(item) for name, item in vars(value).items()}
    if kind is Raised:
        return kind, value
    assert kind in _SIMPLE, f"no model holds a {kind}"
    return kind, value


def described(entity: Any) -> Any:
    """Describe the properties of a model that has others than its class."""
    return {name: (repr(prop), prop._code_name) for name, prop in entity._properties.items()}
