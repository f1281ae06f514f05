"""Entities of models: properties that were never read are sent as they came.

That needs a form that ndb would write as it reads it; see
:mod:`lazyentity.patches.appengine.ndb.forms`.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable
from typing import Any

from google.appengine.ext.ndb import model

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.patches import registry
from lazyentity.patches.appengine.messages import EntityProto
from lazyentity.patches.appengine.ndb.forms import writing_of
from lazyentity.patches.appengine.ndb.values import LazyValues
from lazyentity.patches.registry import is_of


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
    unread, others = kept.without(_read(values))
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


def _read(values: LazyValues) -> list[bytes]:
    """Return the stored names of the values that were read, assigned or deleted."""
    template = values._plan.template
    read = [stored for stored, value in dict.items(values) if value is not UNDECODED]
    known = sum(stored in template for stored in read)
    if len(values) - len(read) + known < len(template):
        read += [stored for stored in template if stored not in values]
    return read


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
    if type(values) is not LazyValues or not _writes_by_own(entity):
        return None
    writing = writing_of(entity)
    if (
        writing is None
        or writing.has_required
        # A class with a conversion of its own may have deleted values.
        or len(values) != len(values._plan.template)
        or set(map(id, dict.values(values))) != _ONLY_UNREAD
    ):
        return None
    kept = writing.kept(values._index)
    return None if kept.others else values._index.fields(kept.names)


_ONLY_UNREAD = {id(UNDECODED)}


def _writes_by_own(entity: Any) -> bool:
    """Say whether :func:`to_pb`, which nobody wrapped, writes a model."""
    method = type(entity)._to_pb
    return method is model.Model._to_pb and is_of(registry, method) and "_to_pb" not in vars(entity)
