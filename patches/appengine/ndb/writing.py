"""Entities of models: properties that were never read are sent as they came.

That needs a form that ndb would write as it reads it; see
:mod:`lazyentity.patches.appengine.ndb.property_layout`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.messages import EntityProto
from lazyentity.patches.appengine.ndb.property_layout import WrittenName, writing_of
from lazyentity.patches.appengine.ndb.seams import PART
from lazyentity.patches.appengine.ndb.values import AppEngineValues

_found = dict.get


def prepare_for_put(original: Callable[[Any], None], entity: Any) -> None:
    """Have the properties of a model change their values before it is written.

    Args:
        original: ndb's own ``Model._prepare_for_put``.
        entity: a model.
    """
    is_lazy = type(entity._values) is AppEngineValues and PART.is_intact()
    writing = writing_of(entity) if is_lazy else None
    if writing is None:
        original(entity)
        return
    # ndb, too, takes the properties before the first one acts, which may change them.
    for prop in [entity._properties[name] for name in writing.preparing]:
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
    writing = None
    if pb is None and type(values) is AppEngineValues and PART.is_intact():
        writing = writing_of(entity)
    if writing is None:
        return original(entity, pb, allow_partial, set_key)
    names = writing.names(values._index)
    if all(stored is None for _, stored in names):
        return original(entity, pb, allow_partial, set_key)
    if not allow_partial and writing.has_required:
        entity._check_initialized()
    pb = EntityProto()
    if set_key:
        entity._key_to_pb(pb)
    _serialise(entity, names, pb)
    return pb


def _serialise(entity: Any, names: Sequence[WrittenName], pb: Any) -> None:
    """Add the properties of a model to its entity, in the order of their names, as ndb does.

    Args:
        entity: a model.
        names: of its properties.
        pb: the entity.
    """
    values, projection = entity._values, entity._projection
    fields = values._index.fields
    # ndb, too, takes the properties before it writes the first one, which may change them.
    taken = entity._properties.copy()
    unread: list[str] = []
    for name, stored in names:
        # Asked now: the properties before it can have read it, or given it a value.
        if stored is not None and _found(values, stored) is UNDECODED:
            unread.append(name)
            continue
        if unread:
            pb.MergeFromString(fields(unread))
            unread.clear()
        taken[name]._serialize(entity, pb, projection=projection)
    pb.MergeFromString(fields(unread))
