"""Entities written into messages as the client's own encoder writes them, without proto-plus.

One recursion writes an entity, and all entities in it, into the message that contains them. So
each value is encoded once, and each error is raised once, by the faulty value. Nesting takes as
many frames of the interpreter as in the client: an entity too deep for the client is too deep for
this encoder, and the other way round.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.protobuf.message import DecodeError
from google.protobuf.struct_pb2 import NULL_VALUE
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec import errors, messages
from lazyentity.codec.contents import Contents

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_UTC = datetime.timezone.utc
_TIMESTAMPS = frozenset((datetime.datetime, DatetimeWithNanoseconds))
_SCALARS = {
    bool: "boolean_value",
    bytes: "blob_value",
    float: "double_value",
    int: "integer_value",
    str: "string_value",
}


def write_entity(
    target: Any, contents: Contents, contents_of: Callable[[Entity], Contents]
) -> bool:
    """Write an entity into an empty upb ``Entity`` message.

    Args:
        target: a ``google.datastore.v1.Entity``; left in any state, if this raises.
        contents: the contents of the entity.
        contents_of: returns the contents of an entity that is the value of a property.

    Returns:
        Whether the nesting of the encoded properties is known to be within protobuf's limit in any
        request.

    Raises:
        Exception: as the client's encoder raises it, for the same property.
        google.protobuf.message.DecodeError: if bytes that are to be written as they came are
            malformed.
    """
    source, deleted, keeps_key, key, properties, excluded, meanings = contents
    if source is not None:
        try:
            source._merge_untouched(target, properties, deleted, keeps_key)
        except DecodeError as error:
            raw = source._untouched(properties, deleted, keeps_key)
            raise errors.undecodable_entity(error, raw) from error
    if key is not None:
        target.key.CopyFrom(key.to_protobuf()._pb)
    values = target.properties
    is_flat = True
    for name, value in dict.items(properties):
        value_message = values[name]
        _write_value(value_message, value, contents_of)
        # The rest is the client's entity_to_protobuf().
        is_list = isinstance(value, list)
        if is_list or isinstance(value, dict):
            is_flat = False
        if name in excluded:
            if not is_list:
                value_message.exclude_from_indexes = True
            elif value:
                for item in value_message.array_value.values:
                    item.exclude_from_indexes = True
        if name in meanings:
            helpers._set_pb_meaning_from_entity(
                SimpleNamespace(_meanings=meanings), name, value, value_message, is_list=is_list
            )
    return is_flat


def serialised_value(value: Any) -> bytes:
    """Serialise the ``google.datastore.v1.Value`` of a value that is no container.

    Raises:
        Exception: as the client's encoder raises it.
    """
    message = messages.Value()
    helpers._set_protobuf_value(message, value)
    serialised: bytes = message.SerializeToString()
    return serialised


def serialised_key(key: Any) -> bytes:
    """Serialise the ``google.datastore.v1.Key`` of a key.

    Raises:
        Exception: as the client raises it where it puts the key into a message.
    """
    message = key.to_protobuf()._pb
    if type(message) is not messages.Key:
        copy = messages.Key()
        copy.CopyFrom(message)
        message = copy
    serialised: bytes = message.SerializeToString()
    return serialised


def _write_value(target: Any, value: Any, contents_of: Callable[[Entity], Contents]) -> None:
    kind = type(value)
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        setattr(target, scalar, value)
    elif value is None:
        target.null_value = NULL_VALUE
    elif kind in _TIMESTAMPS and (value.tzinfo is None or value.tzinfo is _UTC):
        _write_timestamp(target.timestamp_value, value)
    elif isinstance(value, list):
        if len(value) == 0:
            # Sets the oneof case, too.
            target.array_value.Clear()
        else:
            add = target.array_value.values.add
            for item in value:
                _write_value(add(), item, contents_of)
    elif isinstance(value, dict):
        entity = target.entity_value
        # Another name that is the same to protobuf may have set the property before.
        entity.Clear()
        if isinstance(value, Entity):
            contents = contents_of(value)
        else:
            properties = value if kind is dict else dict(value)
            contents = (None, (), False, None, properties, (), {})
        write_entity(entity, contents, contents_of)
    else:
        helpers._set_protobuf_value(target, value)


def _write_timestamp(target: Any, timestamp: Any) -> None:
    target.SetInParent()
    days = timestamp.toordinal() - _EPOCH
    target.seconds = days * 86400 + timestamp.hour * 3600 + timestamp.minute * 60 + timestamp.second
    # The client writes no more than microseconds.
    target.nanos = timestamp.microsecond * 1000
