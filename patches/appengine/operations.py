"""The functions of lazyentity on the entities of ``google.appengine.api.datastore``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from google.appengine.api import datastore

from lazyentity._dispatch import KeyForm, Refuse, values_of
from lazyentity.codec import errors
from lazyentity.codec.describing import describe_entity
from lazyentity.codec.entityproto import Parts
from lazyentity.codec.undecoded import UNDECODED, holds_undecoded
from lazyentity.patches.appengine.entities import LazyEntity, stock_entity
from lazyentity.patches.appengine.messages import index_of_bytes

_put_all: Any = dict.update


def raw(entity: Any) -> bytes:
    """Return the entity as a serialised ``EntityProto``, changes included.

    If nothing was read or changed, these are the received bytes.
    """
    if (
        isinstance(entity, LazyEntity)
        and not entity._instance_dict()
        and tuple(entity._undecoded()) == entity._index.names
    ):
        return entity._index.raw  # type: ignore[no-any-return]  # of the backend's
    return entity.ToPb().SerializePartialToString()  # type: ignore[no-any-return]  # a message's


def prefetch(entity: Any, *names: str) -> None:
    """Decode the properties ``names`` now; none, if the entity lacks one of them.

    Raises:
        KeyError: if the entity lacks one.
    """
    for name in names:
        if name not in entity:
            raise KeyError(name)
    for name in names:
        entity[name]


def decoded(entity: Any) -> list[str]:
    """Return the names decoded or assigned so far, in the entity's order."""
    return [name for name, value in _taken(entity).items() if value is not UNDECODED]


def _taken(entity: Any) -> dict[str, Any]:
    """Return a copy of the storage of an entity, which another thread may change."""
    return dict(dict.items(entity))


def materialize(entity: Any) -> Any:
    """Return a stock entity with everything decoded; a stock one as it is."""
    if not isinstance(entity, LazyEntity):
        return entity
    return stock_entity(entity, to_dict(entity))


def to_dict(entity: Any, *names: str) -> dict[str, Any]:
    """Return properties as a plain dict; the entity stays as it is.

    Raises:
        KeyError: if the entity lacks one of the named properties.
        TypeError: if an undecoded property of another entity was put into it past its methods.
    """
    plain = {}
    taken = _taken(entity)
    for name in names or taken:
        value = taken[name]
        if value is UNDECODED and isinstance(entity, LazyEntity):
            value = entity._compute(name)
        if holds_undecoded(value):
            raise errors.undecoded_value(name, describe_entity(entity.key))
        plain[name] = value
    return dict(_copies(plain.items()))


def key_as(entity: Any, form: KeyForm) -> Any:
    """Return the key, its id or name, or its path as a tuple; None without a key."""
    key = entity.key()
    if form == "key" or key is None:
        return key
    return key.id_or_name() if form == "id" else tuple(key.to_path())


def values(entity: Any, names: Sequence[str], refuse: Refuse | None) -> list[Any]:
    """Return the values of properties, None where there is none; errors as of :func:`to_dict`."""
    return values_of(entity, names, refuse, to_dict)


def detach(entity: Any, partial: bool) -> Any:
    """Return an entity that keeps only the properties read so far; a stock one as it is."""
    if not isinstance(entity, LazyEntity):
        return entity
    taken = _taken(entity)
    kept = {name: value for name, value in taken.items() if value is not UNDECODED}
    whole = len(kept) == len(taken) and not isinstance(entity, DetachedEntity)
    received = entity._index
    index = index_of_bytes(Parts(key=[received.key()]).SerializeToString() + received.fields(kept))
    detached = (LazyEntity if whole or partial else DetachedEntity)._of(index)
    attributes = dict(vars(entity))
    detached._instance_dict().update(attributes)
    dict.clear(detached)
    _put_all(detached, _copies(kept.items()))
    return detached


def _copies(items: Any) -> list[tuple[str, Any]]:
    """Return items with new lists."""
    return [(name, list(value) if type(value) is list else value) for name, value in items]


class _NotWritable(datastore.Entity):  # type: ignore[misc]  # upstream is untyped
    """An entity with some of the properties of another; writing it raises RuntimeError."""

    def _ToPb(self, mark_key_as_saved: Any = True) -> NoReturn:  # noqa: N802  # its name
        raise RuntimeError(
            f"{describe_entity(self.key)} was detached with only the properties that had "
            "been read, and writing it would delete the others; to write only these properties, "
            "call detach(entities, partial=True)"
        )


class DetachedEntity(_NotWritable, LazyEntity):
    """As :class:`_NotWritable`, of a lazy entity; copies of it are not written either."""

    __slots__ = ()
    _plain_type = _NotWritable
