"""The shadow schema: Datastore's own messages, with parts that may stay unread left as bytes.

A length-delimited field is the same on the wire whether its type is a message or ``bytes``. The
descriptors that the installed client carries are copied into a private pool with a few such fields
retyped, so that protobuf's own parser (upb) splits a message without looking into those parts. The
shadow is derived from the live descriptors, so it follows upstream when fields are added.

Messages of the shadow:

``LookupResults``, ``QueryResults``
    As upstream's ``LookupResponse`` and ``RunQueryResponse``, but ``EntityResult.entity`` is
    ``repeated bytes``, one element for each occurrence on the wire; see ``EntityParts``.
``EntityParts``
    An entity split into ``repeated bytes key`` and ``repeated bytes properties``, one element for
    each occurrence on the wire. Protobuf defines that repeated occurrences of a message are merged,
    and that concatenating encodings merges them, so ``b"".join(parts.key)`` is the key, however it
    was split.
``EntityEntries``
    An entity split further: each entry of its properties into name and value, both ``bytes``.
``LookupKeys``
    The keys of a ``LookupRequest``, each in bytes.
``CommitMutations``
    The mutations of a ``CommitRequest``; the message of each operation is ``bytes``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from google.cloud.datastore_v1.types import (
    datastore as datastore_pb2,
    entity as entity_pb2,
    query as query_pb2,
)
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FieldProto = descriptor_pb2.FieldDescriptorProto


def _copy_with_dependencies(
    pool: descriptor_pool.DescriptorPool,
    file: Any,
    opaque_field: Any,
    copied: set[str],
) -> None:
    """Add ``file`` and its imports to ``pool``, with ``opaque_field`` as ``repeated bytes``."""
    if file.name in copied:
        return
    copied.add(file.name)
    for dependency in file.dependencies:
        _copy_with_dependencies(pool, dependency, opaque_field, copied)
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    if file.name == opaque_field.file.name:
        for message in proto.message_type:
            if message.name == opaque_field.containing_type.name:
                for field in message.field:
                    if field.number == opaque_field.number:
                        field.type = _FieldProto.TYPE_BYTES
                        field.label = _FieldProto.LABEL_REPEATED
                        field.ClearField("type_name")
    pool.Add(proto)


def _own_file(package: str) -> descriptor_pb2.FileDescriptorProto:
    """Describe the messages that upstream lacks, with the field numbers of the live ones."""
    fields = entity_pb2.Entity.pb().DESCRIPTOR.fields_by_name
    lookup = datastore_pb2.LookupRequest.pb().DESCRIPTOR.fields_by_name
    commit = datastore_pb2.CommitRequest.pb().DESCRIPTOR.fields_by_name
    mutation = datastore_pb2.Mutation.pb().DESCRIPTOR.fields_by_name
    entry = fields["properties"].message_type.fields_by_name
    # In proto2 a field that is set to its default is on the wire, as it is in the entries of a map.
    file = descriptor_pb2.FileDescriptorProto(
        name="lazyentity/shadow.proto", package=package, syntax="proto2"
    )

    def add_bytes(message: Any, field: Any, label: int) -> None:
        message.field.add(
            name=field.name, number=field.number, type=_FieldProto.TYPE_BYTES, label=label
        )

    def add_entries(message: Any, field: Any, label: int) -> Any:
        message.field.add(
            name=field.name,
            number=field.number,
            type=_FieldProto.TYPE_MESSAGE,
            type_name=f".{package}.{message.name}.Entry",
            label=label,
        )
        return message.nested_type.add(name="Entry")

    optional, repeated = _FieldProto.LABEL_OPTIONAL, _FieldProto.LABEL_REPEATED

    parts = file.message_type.add(name="EntityParts")
    add_bytes(parts, fields["key"], repeated)
    add_bytes(parts, fields["properties"], repeated)

    key = file.message_type.add(name="EntityKey")
    add_bytes(key, fields["key"], repeated)

    keys = file.message_type.add(name="LookupKeys")
    add_bytes(keys, lookup["keys"], repeated)

    mutations = file.message_type.add(name="CommitMutations")
    one_mutation = add_entries(mutations, commit["mutations"], repeated)
    for operation in ("insert", "upsert", "delete"):
        add_bytes(one_mutation, mutation[operation], optional)

    entries = file.message_type.add(name="EntityEntries")
    add_bytes(entries, fields["key"], repeated)
    split_entry = add_entries(entries, fields["properties"], repeated)
    add_bytes(split_entry, entry["key"], optional)
    add_bytes(split_entry, entry["value"], optional)
    return file


def _derive() -> descriptor_pool.DescriptorPool:
    pool = descriptor_pool.DescriptorPool()
    file = datastore_pb2.LookupResponse.pb().DESCRIPTOR.file
    entity_field = query_pb2.EntityResult.pb().DESCRIPTOR.fields_by_name["entity"]
    _copy_with_dependencies(pool, file, entity_field, set())
    pool.Add(_own_file(_PACKAGE))
    return pool


_PACKAGE = "lazyentity.shadow"
_POOL = _derive()


def _message(name: str, package: str = _PACKAGE) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{package}.{name}"))


_UPSTREAM = datastore_pb2.LookupResponse.pb().DESCRIPTOR.file.package
LookupResults = _message("LookupResponse", _UPSTREAM)
QueryResults = _message("RunQueryResponse", _UPSTREAM)
EntityParts = _message("EntityParts")
EntityEntries = _message("EntityEntries")
EntityKey = _message("EntityKey")
LookupKeys = _message("LookupKeys")
CommitMutations = _message("CommitMutations")


def encodings(raw: bytes, message_type: Any) -> Iterator[bytes]:
    """Encode a read response: as received, with one entity a result, with known fields alone."""
    yield raw
    message = message_type.FromString(raw)
    is_lookup = message_type is LookupResults
    parts = (message.found, message.missing) if is_lookup else (message.batch.entity_results,)
    for result in itertools.chain.from_iterable(parts):
        if len(result.entity) > 1:
            # Concatenating encodings is how protobuf defines to merge them.
            result.entity[:] = [b"".join(result.entity)]
    yield message.SerializeToString()
    message.DiscardUnknownFields()
    yield message.SerializeToString()
