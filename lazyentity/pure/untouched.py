"""The part of a serialised entity that is written back as it came."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

from google.protobuf.message import DecodeError

from lazyentity.codec import messages, shadow


def untouched_bytes(raw: bytes, touched: Collection[str], keeps_key: bool, is_deep: bool) -> bytes:
    """Serialise an entity without some of its properties; malformed parts stay as they came.

    Args:
        raw: the serialised entity.
        touched: the names of the properties to leave out, all of them the entity's.
        keeps_key: whether the key stays.
        is_deep: whether the touched properties may hold other entities. Their bytes are not parsed
            here: each of them serialises its own.
    """
    if keeps_key and not touched:
        return raw
    if not is_deep:
        message = messages.Entity()
        try:
            _merge_and_delete(message, raw, touched, keeps_key)
        except DecodeError:
            # The malformed part may be among those to leave out.
            pass
        else:
            return cast(bytes, message.SerializeToString())
    split = shadow.EntityEntries.FromString(raw)
    if split.SerializeToString() != raw:
        # Only in the canonical encoding can entries be told by their bytes. Protobuf has parsed
        # any other encoding as a whole.
        return untouched_bytes(raw, touched, keeps_key, is_deep=False)
    entries = split.properties
    for index in reversed(range(len(entries))):
        if entries[index].key.decode() in touched:
            del entries[index]
    if not keeps_key:
        split.ClearField("key")
    return cast(bytes, split.SerializeToString())


def merge_untouched(
    target: Any, raw: bytes, touched: Collection[str], keeps_key: bool, is_deep: bool
) -> None:
    """Merge the result of :func:`untouched_bytes` into a message.

    Args:
        target: an empty upb ``google.datastore.v1.Entity``; left in any state, if this raises.
        raw: as for :func:`untouched_bytes`.
        touched: as for :func:`untouched_bytes`.
        keeps_key: as for :func:`untouched_bytes`.
        is_deep: as for :func:`untouched_bytes`.

    Raises:
        google.protobuf.message.DecodeError: if something in the result is malformed.
    """
    if not is_deep:
        try:
            _merge_and_delete(target, raw, touched, keeps_key)
        except DecodeError:
            target.Clear()
        else:
            return
    target.MergeFromString(untouched_bytes(raw, touched, keeps_key, is_deep=True))


def _merge_and_delete(target: Any, raw: bytes, touched: Collection[str], keeps_key: bool) -> None:
    target.MergeFromString(raw)
    for name in touched:
        del target.properties[name]
    if not keeps_key:
        target.ClearField("key")
