"""Entities of models: properties that were never read are sent as they came.

They are, if ndb would write what it reads; :mod:`lazyentity.patches.appengine.ndb.forms` tells.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import Any

from google.appengine.datastore.entity_bytes_pb2 import EntityProto
from google.appengine.ext.ndb import model

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.ndb.forms import kept_names
from lazyentity.patches.appengine.ndb.originals import own
from lazyentity.patches.appengine.ndb.values import LazyValues, is_unread

_nothing_to_prepare = own(model.Property, "_prepare_for_put")
_found = dict.get


def prepare_for_put(original: Callable[[Any], None], entity: Any) -> None:
    """Have the properties of a model change their values before it is written.

    Args:
        original: ndb's own ``Model._prepare_for_put``.
        entity: a model.
    """
    properties = entity._properties
    if type(entity._values) is not LazyValues or not properties:
        original(entity)
        return
    for name in sorted(properties):
        prop = _found(properties, name)
        # A property that the class does not define, and that nobody asked for, has nothing to do.
        if prop is not UNDECODED and (
            type(prop)._prepare_for_put is not _nothing_to_prepare
            or "_prepare_for_put" in vars(prop)
        ):
            prop._prepare_for_put(entity)


def to_pb(
    original: Callable[..., Any],
    entity: Any,
    pb: Any = None,
    allow_partial: Any = False,
    set_key: Any = True,
) -> Any:
    """Make the entity of a model.

    Args:
        original: ndb's own ``Model._to_pb``.
        entity: a model.
        pb: an entity to write to; None for a new one.
        allow_partial: whether required properties need no values.
        set_key: whether the entity gets the key of the model.

    Raises:
        As ``original``.
    """
    values = entity._values
    kept = kept_names(entity) if pb is None and type(values) is LazyValues else ()
    if not kept:
        return original(entity, pb, allow_partial, set_key)
    if not allow_partial and values._plan.writing.has_required:
        entity._check_initialized()
    pb = EntityProto()
    if set_key:
        entity._key_to_pb(pb)
    properties = entity._properties
    unread = [name for name in kept if is_unread(values, name.encode())]
    # In the order of their names, as ndb writes them.
    merged = 0
    for name in sorted(properties.keys() - set(unread)):
        position = bisect(unread, name)
        if position > merged:
            pb.MergeFromString(values._index.fields(unread[merged:position]))
            merged = position
        properties[name]._serialize(entity, pb, projection=entity._projection)
    pb.MergeFromString(values._index.fields(unread[merged:]))
    return pb
