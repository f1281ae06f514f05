"""Protobuf in place of a scanner: entities encoded as servers do, properties parsed one by one.

The canonical encoding of an entity is the one that servers send and an index relies on. Each entry
of the properties is one name and then one value, and nothing else; the key comes once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.keys import key_from_raw
from lazyentity.codec.values import CASE_NUMBERS, is_excluded, property_value


def value_message(value: bytes, name: str, raw: bytes) -> Any:
    """Parse one serialised ``Value``.

    Args:
        value: the ``google.datastore.v1.Value``.
        name: of its property.
        raw: the serialised entity of the property, for error messages.

    Raises:
        google.protobuf.message.DecodeError: if the bytes are malformed.
    """
    try:
        return messages.Value.FromString(value)
    except DecodeError as error:
        raise errors.undecodable_property(error, name, raw) from error


def case_number(value: bytes) -> int:
    """Return the number of the field that is set in one serialised ``Value``.

    Args:
        value: the ``google.datastore.v1.Value``.

    Returns:
        The number of its oneof case; 0 if it has none, or if the bytes are malformed.
    """
    try:
        message = messages.Value.FromString(value)
    except DecodeError:
        return 0
    return CASE_NUMBERS[message.WhichOneof("value_type")]


def convert(raw: bytes, name: str, message: Any, make_entity: Callable[[bytes], Any]) -> Any:
    """Return the value of a property; refuse the same values as the client.

    Args:
        raw: the serialised entity of the property, for error messages.
        name: the property.
        message: its ``Value``.
        make_entity: makes an embedded entity of its serialised bytes.

    Raises:
        ValueError, OverflowError: as the client raises them.
    """
    try:
        return property_value(name, message, lambda entity: make_entity(entity.SerializeToString()))
    except (DecodeError, ValueError, OverflowError) as error:
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


def canonical_encodings(raw: bytes) -> Iterator[bytes]:
    """Encode the serialised entity ``raw`` as protobuf does.

    An unknown field that looks like an entry makes an encoding impossible to index. So there are
    three encodings, each with less in it:

    - the first has everything that was in ``raw``;
    - the second lacks unknown fields that look like entries;
    - the third lacks every field that is unknown to ``Entity``.

    Fields unknown to the values are in all of them.

    Raises:
        google.protobuf.message.DecodeError: if anything in ``raw`` is malformed.
    """
    message = messages.Entity.FromString(raw)
    encoded = message.SerializeToString()
    yield encoded
    known = messages.Entity()
    if message.HasField("key"):
        known.key.CopyFrom(message.key)
    known.properties.MergeFrom(message.properties)
    known_encoded = known.SerializeToString()
    unknown = shadow.EntityParts.FromString(encoded)
    unknown.ClearField("key")
    unknown.ClearField("properties")
    yield known_encoded + unknown.SerializeToString()
    yield known_encoded
