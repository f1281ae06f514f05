"""Entities of models: properties that were never read are sent as they came.

They are, if ndb would write what it reads; :mod:`lazyentity.patches.appengine.ndb.forms` tells.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import Any

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.messages import EntityProto
from lazyentity.patches.appengine.ndb.forms import writing_of
from lazyentity.patches.appengine.ndb.values import LazyValues


def prepare_for_put(original: Callable[[Any], None], entity: Any) -> None:
    """Have the properties of a model change their values before it is written.

    Args:
        original: ndb's own ``Model._prepare_for_put``.
        entity: a model.
    """
    writing = writing_of(entity) if type(entity._values) is LazyValues else None
    if writing is None:
        original(entity)
        return
    for name in writing.preparing:
        entity._properties[name]._prepare_for_put(entity)


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
    writing = writing_of(entity) if pb is None and type(values) is LazyValues else None
    if writing is None:
        return original(entity, pb, allow_partial, set_key)
    kept = writing.kept(values._index)
    if not kept.names:
        return original(entity, pb, allow_partial, set_key)
    if not allow_partial and writing.has_required:
        entity._check_initialized()
    unread, others = kept.names, kept.others
    undecoded = {stored for stored, value in dict.items(values) if value is UNDECODED}
    if len(undecoded) < len(values._plan.template):
        pairs = zip(kept.names, kept.stored, strict=True)
        read = [name for name, stored in pairs if stored not in undecoded]
        were_read = frozenset(read)
        unread = [name for name in unread if name not in were_read]
        others = sorted([*others, *read])
    pb = EntityProto()
    if set_key:
        entity._key_to_pb(pb)
    properties = entity._properties
    # In the order of their names, as ndb writes them.
    merged = 0
    for name in others:
        position = bisect(unread, name)
        if position > merged:
            pb.MergeFromString(values._index.fields(unread[merged:position]))
            merged = position
        properties[name]._serialize(entity, pb, projection=entity._projection)
    pb.MergeFromString(values._index.fields(unread[merged:]))
    return pb
