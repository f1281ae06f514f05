"""Whole entities, decoded at once into stock entities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec import fallback, messages
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.codec.values import SCALARS, meaning_of, stock_entity
from lazyentity.pure.index import index_entity, split_again

_which = messages.Value.WhichOneof


def stock_from_raw(raw: bytes) -> Entity:
    """As :meth:`lazyentity._backend.abc.Backend.stock_from_raw`."""
    if not isinstance(raw, bytes):
        # As the native backend, whose argument is declared.
        raise TypeError(f"raw must be bytes, not {type(raw).__name__}")
    return stock_entity(messages.Entity.FromString(raw))


def rest_of_entity(
    raw: bytes,
    key: Key | None,
    names: Iterable[str],
    storage: dict[Any, Any] | None,
    parsed: Any,
) -> Entity:
    """Make a stock entity of the properties that are undecoded, embedded entities included.

    Args:
        raw: the serialised entity, for error messages.
        key: its key.
        names: of all of its properties, in the order of the result.
        storage: the values by name, the sentinel included; None if all are undecoded. Properties
            with another value are None in the result, without a flag or a meaning.
        parsed: the ``google.datastore.v1.Value`` of each name.

    Raises:
        google.protobuf.message.DecodeError: if the bytes of a property are malformed.
        ValueError, OverflowError: as the client raises them.
    """
    values: dict[str, Any] = {}
    excluded = []
    meanings = {}
    for name in names:
        if storage is not None and storage.get(name) is not UNDECODED:
            values[name] = None
            continue
        message = parsed[name]
        value_type = _which(message, "value_type")
        if value_type in SCALARS:
            values[name] = getattr(message, value_type)
            if message.exclude_from_indexes:
                excluded.append(name)
            if not message.meaning:
                continue
        else:
            values[name] = fallback.convert(raw, name, message, _embedded)
            if fallback.excluded(raw, name, message):
                excluded.append(name)
        meaning = meaning_of(message)
        if meaning is not None:
            meanings[name] = (meaning, values[name])
    entity = Entity(key=key, exclude_from_indexes=tuple(excluded))
    entity.update(values)
    entity._meanings.update(meanings)
    return entity


def _embedded(raw: bytes) -> Entity:
    """Make a stock entity, its properties in the order of a lazy one; errors as above."""
    raw, shape, split = index_entity(raw)
    names = shape.ordinals
    try:
        parsed = split.parsed.pop()
    except IndexError:
        # Other threads indexed many entities meanwhile.
        parsed = split_again(split, raw, names)
    return rest_of_entity(raw, fallback.key(raw), names, None, parsed)
