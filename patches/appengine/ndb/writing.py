"""Entities of models: properties that were never read are sent as they came.

That needs a form that ndb would write as it reads it; see
:mod:`lazyentity.patches.appengine.ndb.property_layout`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import Any

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches.appengine.messages import EntityProto
from lazyentity.patches.appengine.ndb.property_layout import Kept, Writing, writing_of
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
    kept = writing.kept(values._index)
    if not kept.names:
        return original(entity, pb, allow_partial, set_key)
    if not allow_partial and writing.has_required:
        entity._check_initialized()
    pb = EntityProto()
    if set_key:
        entity._key_to_pb(pb)
    _serialise(entity, writing, kept, pb)
    return pb


def _serialise(entity: Any, writing: Writing, kept: Kept, pb: Any) -> None:
    """Add the properties of a model to its entity, in the order of their names, as ndb does.

    Args:
        entity: a model.
        writing: of the model.
        kept: of the model.
        pb: the entity.
    """
    values, properties, projection = entity._values, entity._properties, entity._projection
    fields = values._index.fields
    # ndb, too, takes the properties before it writes the first one, which may change them.
    taken = properties.copy()
    written: str | None = None
    read: list[bytes] | None = None
    while read is None:
        read = _read(values)
        unread, others = kept.without(read)
        merged = 0
        if written is not None:
            merged, others = bisect(unread, written), others[bisect(others, written) :]
        for name in others:
            position = bisect(unread, name)
            if position > merged:
                pb.MergeFromString(fields(unread[merged:position]))
                merged = position
            # It can also read properties that follow, or give them values.
            may_change = merged < len(unread) and writing.may_run_code(name, values)
            taken[name]._serialize(entity, pb, projection=projection)
            if may_change and _read(values) != read:
                written, read = name, None
                break
    pb.MergeFromString(fields(unread[merged:]))


def _read(values: AppEngineValues) -> list[bytes]:
    """Return the stored names of the values that were read, assigned or deleted."""
    # Each is looked up by its name, as ndb does: another thread can change the values.
    return [
        stored for stored in values._mapping.template if _found(values, stored) is not UNDECODED
    ]
