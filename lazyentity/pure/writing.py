"""Entities written into messages as the client's own encoder writes them, without proto-plus.

One recursion writes an entity, and all entities in it, into the message that contains them. So
each value is encoded once, and each error is raised once, by the faulty value. Nesting takes as
many frames of the interpreter as in the client: an entity too deep for the client is too deep for
this encoder, and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, messages, shadow
from lazyentity.codec.encodable import OF_DICT, EncodableEntity

_SCALARS = {
    bool: "boolean_value",
    bytes: "blob_value",
    float: "double_value",
    int: "integer_value",
    str: "string_value",
}


def write_entity(
    target: Any, entity: Entity, encodable_of: Callable[[Entity], EncodableEntity]
) -> None:
    """As :meth:`lazyentity._backend.protocols.Backend.write_entity`."""
    write_contents(target, encodable_of(entity), encodable_of)


def write_contents(
    target: Any, encodable: EncodableEntity, encodable_of: Callable[[Entity], EncodableEntity]
) -> bool:
    """Write an entity of these contents; errors as those of ``Backend.write_entity``.

    Returns:
        Whether the nesting of the encoded properties is known to be within protobuf's limit in any
        request.
    """
    source = encodable.source
    if source is not None:
        untouched = encodable.properties, encodable.deleted, encodable.keeps_key
        try:
            source._merge_untouched(target, *untouched)
        except DecodeError as error:
            # Of the native backend.
            raise errors.undecodable_entity(error, source._untouched(*untouched)) from error
    if encodable.key is not None:
        target.key.CopyFrom(encodable.key.to_protobuf()._pb)
    items: Iterable[tuple[Any, Any]]
    if not isinstance(encodable.properties, dict):
        # The items() of a class that overrides it.
        items = encodable.properties()
    elif encodable.size < 0:
        items = dict.items(encodable.properties)
    else:
        items = _live_items(encodable)
    return write_properties(target, items, encodable, encodable_of)


def serialise_entity(
    entity: Entity, encodable_of: Callable[[Entity], EncodableEntity]
) -> tuple[bytes, bool, bool]:
    """As :meth:`lazyentity._backend.protocols.Backend.serialise_entity`."""
    return serialise_contents(encodable_of(entity), encodable_of)


def serialise_contents(
    encodable: EncodableEntity, encodable_of: Callable[[Entity], EncodableEntity]
) -> tuple[bytes, bool, bool]:
    """Serialise an entity of these contents, as :func:`serialise_entity`."""
    source = encodable.source
    changed = messages.Entity()
    is_flat = write_contents(changed, encodable._replace(source=None), encodable_of)
    serialised: bytes = changed.SerializeToString()
    if source is not None:
        # Protobuf merges concatenated encodings; these have no field in common.
        untouched = source._untouched(encodable.properties, encodable.deleted, encodable.keeps_key)
        serialised = untouched + serialised
    return serialised, is_flat, source is None


def is_well_formed(serialised: bytes) -> bool:
    """As :meth:`lazyentity._backend.protocols.Backend.is_well_formed`."""
    return False


def write_properties(
    target: Any,
    items: Iterable[tuple[Any, Any]],
    encodable: EncodableEntity,
    encodable_of: Callable[[Entity], EncodableEntity],
) -> bool:
    """Write properties of an entity; same result and errors as :func:`write_contents`.

    Args:
        target: as for :func:`write_contents`.
        items: the names and values, taken one after the other, as the client does.
        encodable: the contents of the entity, for its flags and meanings.
        encodable_of: as for :func:`write_contents`.
    """
    values = target.properties
    is_flat = True
    owner, excluded, meanings = encodable.owner, encodable.excluded, encodable.meanings
    # The attributes of a lazy entity were just read.
    is_current = owner is None or encodable.size >= 0
    for name, value in items:
        message = values[name]
        is_list = isinstance(value, list)
        if not _write_value(message, value, encodable_of):
            # Code of the caller may have run, which may have changed anything.
            is_current = owner is None
            is_flat = is_flat and not isinstance(value, (list, dict))
        # The client reads both attributes for each property, and after its value.
        if not is_current:
            excluded, meanings = flags_of(encodable)
            is_current = True
        if name in excluded:
            _exclude(message, is_list)
        if name in meanings:
            _mean(message, meanings, name, value, is_list)
    return is_flat


def flags_of(encodable: EncodableEntity) -> tuple[Any, Any]:
    """Return ``exclude_from_indexes`` and ``_meanings`` of an entity as they are now.

    Raises:
        AttributeError: as the client raises it, if one of them was deleted.
    """
    owner = encodable.owner
    if owner is None:
        return encodable.excluded, encodable.meanings
    if encodable.size < 0:
        return owner.exclude_from_indexes, owner._meanings
    for name in owner._deleted_attributes:
        getattr(owner, name)
    attributes = owner._instance_dict()
    return (
        attributes.get("exclude_from_indexes", encodable.excluded),
        attributes.get("_meanings", encodable.meanings),
    )


def write_flags(
    target: Any, encodable: EncodableEntity, name: Any, value: Any, is_list: bool
) -> None:
    """Give a ``Value`` message the index flag and the meaning that its property has now.

    Args:
        target: the message of ``value``, without either.
        encodable: the contents of the entity.
        name: the property.
        value: its value, for which the client asks by identity.
        is_list: whether it was a list before it was encoded.
    """
    excluded, meanings = flags_of(encodable)
    if name in excluded:
        _exclude(target, is_list)
    if name in meanings:
        _mean(target, meanings, name, value, is_list)


def _exclude(target: Any, is_list: bool) -> None:
    # As the client's entity_to_protobuf() does.
    if not is_list:
        target.exclude_from_indexes = True
    else:
        for item in target.array_value.values:
            item.exclude_from_indexes = True


def _mean(target: Any, meanings: Any, name: Any, value: Any, is_list: bool) -> None:
    helpers._set_pb_meaning_from_entity(
        SimpleNamespace(_meanings=meanings), name, value, target, is_list=is_list
    )


def _live_items(encodable: EncodableEntity) -> Iterator[tuple[Any, Any]]:
    """Yield the properties of a lazy entity that are to be encoded, while the caller's code runs.

    The storage is walked as the client walks a stock entity, by an iterator that notices changes
    since the contents were taken. Properties that are written as they came count as taken.

    Raises:
        RuntimeError: as a dict's iterator raises it.
    """
    owner = encodable.owner
    items = iter(dict.items(owner))
    if len(owner) != encodable.size:
        # Between the two lines above the iterator notices it.
        raise RuntimeError("dictionary changed size during iteration")
    received = owner._shape.ordinals
    for name, value in items:
        if name not in encodable.properties and name in received:
            if name not in encodable.deleted:
                # It was written as it came.
                continue
            recall_flag(encodable, name)
        yield name, value


def recall_flag(encodable: EncodableEntity, name: Any) -> None:
    """Note the index flag of a received property that was deleted, and came back meanwhile."""
    if "exclude_from_indexes" not in encodable.owner._instance_dict():
        # The set was made for these contents.
        encodable.excluded.update(encodable.owner._wire_excluded((name,)))


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


def _write_value(
    target: Any, value: Any, encodable_of: Callable[[Entity], EncodableEntity]
) -> bool:
    """Write a value into an empty ``Value`` message; errors as :func:`write_contents`.

    Returns:
        Whether it is a scalar, for which no code of the caller runs.
    """
    scalar = _SCALARS.get(type(value))
    if scalar is not None:
        setattr(target, scalar, value)
    elif isinstance(value, list):
        if len(value) == 0:
            # Sets the oneof case, too.
            target.array_value.Clear()
        else:
            add = target.array_value.values.add
            for item in value:
                _write_value(add(), item, encodable_of)
    elif isinstance(value, dict):
        entity = target.entity_value
        # Another name that is the same to protobuf may have set the property before.
        entity.Clear()
        if isinstance(value, Entity):
            write_contents(entity, encodable_of(value), encodable_of)
        else:
            # The client makes an entity of a dict: a copy, which nobody else can change.
            write_properties(entity, dict(value).items(), OF_DICT, encodable_of)
    else:
        helpers._set_protobuf_value(target, value)
    return scalar is not None


# Keys, and the mutations around entities and keys in bytes.


def key_bytes(key: Key) -> bytes | None:
    """As :meth:`lazyentity._backend.protocols.Backend.key_bytes`."""
    message = key_message(key)
    return None if message is None else bytes(message.SerializeToString())


def complete_key_bytes(key: object, project: str, database: str) -> bytes | None:
    """As :meth:`lazyentity._backend.protocols.Backend.complete_key_bytes`."""
    if type(key) is not Key or key.project != project or (key.database or "") != database:
        return None
    try:
        last = key._path[-1]
        is_partial = last.get("id") is None and last.get("name") is None
    except (AttributeError, IndexError, TypeError):
        # Not a key as its constructor makes it.
        return None
    return None if is_partial else key_bytes(key)


def key_message(key: Key) -> Any:
    """As :meth:`lazyentity._backend.protocols.Backend.key_message`."""
    if "to_protobuf" in vars(key):
        # A replacement for this key alone.
        return None
    message = messages.Key()
    try:
        partition = message.partition_id
        partition.project_id = key.project
        if key.database:
            partition.database_id = key.database
        if key.namespace:
            partition.namespace_id = key.namespace
        add = message.path.add
        # Key.path would be a deep copy.
        for element in key._path:
            if "id" in element and "name" in element:
                # The last one counts: for the client, that is the name.
                return None
            add(**element)
    except (TypeError, ValueError):
        return None
    return message


def mutation_parts(mutations: Iterable[Mapping[str, bytes]]) -> list[bytes]:
    """As :meth:`lazyentity._backend.protocols.Backend.mutation_parts`."""
    return [shadow.CommitMutations(mutations=mutations).SerializeToString()]
