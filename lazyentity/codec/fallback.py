"""Properties of a serialised entity, parsed and converted one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages
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
