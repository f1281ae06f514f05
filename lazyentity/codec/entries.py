"""Properties of a serialised entity, parsed with the client's own message classes.

To read one property, the entity is split into its entries (``EntityParts``), and the one entry is
parsed. Both steps are protobuf's own, so an encoding that is legal but unusual (value before name, a
split value, unknown fields) means here what it means to the stock client.

A split entity pins an arena several times the size of its bytes, so entities do not keep theirs. The
last one that was split is remembered, once for the process: code usually reads several properties of
one entity before it goes on to the next.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.key import key_from_raw
from lazyentity.codec.values import is_excluded, meaning_of, value_from_message


class Split:
    """One serialised entity, split into the serialised entries of its properties.

    Attributes:
        raw: the entity.
        properties: the client's own message map, once the entity was parsed as a whole, else None.
    """

    __slots__ = ("_entries", "_reads_left", "properties", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.properties: Any = None
        self._entries = shadow.EntityParts.FromString(raw).properties
        # Parsing an entry by itself costs about eight times its share of parsing all at once.
        self._reads_left = len(self._entries) // 8 + 4

    def parse_entry(self, ordinal: int) -> Any:
        """Parse the ``Value`` of one entry.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
        """
        self._reads_left -= 1
        if self._reads_left == 0:
            # Some other entry may be malformed; then the rest is parsed one by one as well.
            with contextlib.suppress(DecodeError):
                self.properties = messages.Entity.FromString(self.raw).properties
        return messages.PropertiesEntry.FromString(self._entries[ordinal]).value


last_split = Split(b"")


def _split(raw: bytes) -> Split:
    global last_split
    split = last_split
    if split.raw is not raw:
        split = last_split = Split(raw)
    return split


def value_message(raw: bytes, name: str, ordinal: int) -> Any:
    """Parse the ``Value`` of one property, alone.

    Args:
        raw: the serialised entity.
        name: the property.
        ordinal: the position of its entry among the entity's entries.

    Raises:
        google.protobuf.message.DecodeError: if its bytes are malformed.
    """
    try:
        return _split(raw).parse_entry(ordinal)
    except DecodeError as error:
        raise errors.undecodable_property(error, name, raw) from error


def value_messages(
    raw: bytes, names: Iterable[str], ordinals: Mapping[str, int]
) -> Iterator[tuple[str, Any]]:
    """Parse the ``Value`` of each property in ``names``, in one pass.

    Raises:
        google.protobuf.message.DecodeError: if the bytes of one of them are malformed.
    """
    try:
        properties = messages.Entity.FromString(raw).properties
    except DecodeError:
        # Which part it is that cannot be parsed, and whether anybody asked for that part, only
        # reading them one by one can tell.
        return ((name, value_message(raw, name, ordinals[name])) for name in names)
    return ((name, properties[name]) for name in names)


def convert(
    raw: bytes, name: str, message: Any, make_entity: Callable[[bytes], Entity]
) -> tuple[Any, Any]:
    """Return value and meaning of a property, refusing what the client would refuse.

    Args:
        raw: the serialised entity that the property is of, for error messages.
        name: the property.
        message: its ``Value``.
        make_entity: makes an embedded entity of its serialised bytes.

    Raises:
        ValueError, OverflowError: as the client raises them.
    """
    value_type = message.WhichOneof("value_type")
    try:
        value = value_from_message(message, value_type, make_entity)
        if value_type != "array_value":
            return value, message.meaning
        is_excluded(name, message)
        return value, meaning_of(message)
    except Exception as error:
        errors.note_property(error, name, raw)
        raise


def excluded(raw: bytes, name: str, message: Any) -> bool:
    """Say whether a property is excluded from indexes; arguments as for :func:`convert`.

    Raises:
        ValueError: as the client raises it, if the elements of an array disagree.
    """
    try:
        return is_excluded(name, message)
    except ValueError as error:
        errors.note_property(error, name, raw)
        raise


def key(raw: bytes) -> Key | None:
    """Decode the key of the serialised entity ``raw``; None if it has none.

    Raises:
        google.protobuf.message.DecodeError: if its bytes are malformed.
        ValueError: as the client raises it, if it could not have converted the key.
    """
    try:
        return key_from_raw(raw)
    except DecodeError as error:
        raise errors.undecodable_entity(error, raw) from error
