"""Entities of models: properties that were never read are sent as they came.

That needs a form that ndb would write as it reads it; see
:mod:`lazyentity.patches.appengine.ndb.property_layout`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import model

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches import registry
from lazyentity.patches.appengine.messages import EntityProto
from lazyentity.patches.appengine.ndb.property_layout import Kept, Writing, writing_of
from lazyentity.patches.appengine.ndb.values import LazyValues
from lazyentity.patches.upstream import is_upstream

_found = dict.get


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
    writing = writing_of(entity) if pb is None and type(values) is LazyValues else None
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
    taken = properties.copy() if type(properties) is dict else properties._storage()
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
            prop = taken[name]
            if prop is UNDECODED:
                prop = properties._compute(name)
            prop._serialize(entity, pb, projection=projection)
            if may_change and _read(values) != read:
                written, read = name, None
                break
    pb.MergeFromString(fields(unread[merged:]))


def _read(values: LazyValues) -> list[bytes]:
    """Return the stored names of the values that were read, assigned or deleted."""
    # Each is looked up by its name, as ndb does: another thread can change the values.
    return [
        stored for stored in values._mapping.template if _found(values, stored) is not UNDECODED
    ]


def serialised(entity: Any) -> bytes:
    """Serialise a model for memcache, without its key.

    Args:
        entity: a model.

    Raises:
        As ``Model._to_pb``.
    """
    as_it_came = _as_it_came(entity)
    if as_it_came is not None:
        return as_it_came
    raw: bytes = entity._to_pb(set_key=False).SerializePartialToString()
    return raw


def _as_it_came(entity: Any) -> bytes | None:
    """Return the received properties, if none was read and ndb would write them unchanged."""
    values = entity._values
    if type(values) is not LazyValues or not _is_written_here(entity):
        return None
    writing = writing_of(entity)
    if (
        writing is None
        or writing.has_required
        # A class with its own conversion may have deleted values.
        or len(values) != len(values._mapping.template)
        or not values._is_untouched()
    ):
        return None
    kept = writing.kept(values._index)
    return None if kept.others else values._index.fields(kept.names)


def _is_written_here(entity: Any) -> bool:
    """Say whether :func:`to_pb`, which nobody wrapped, writes a model."""
    method = type(entity)._to_pb
    return (
        method is model.Model._to_pb
        and is_upstream(method, registry)
        and "_to_pb" not in vars(entity)
    )
