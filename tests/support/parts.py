"""Comparison part by part, for entities that the stock client does not make as a whole.

The stock client raises for the whole entity. Its result for one part comes from an entity that has
only this part. Nested entities are emptied for that, because a lazy entity makes them without
reading them; they are compared by themselves.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import DecodeError
from google.protobuf.wrappers_pb2 import StringValue

import lazyentity
from lazyentity import LazyEntity
from lazyentity.entity import LazyEntityBase
from tests.support.snapshots import Raised, outcome, snapshot, snapshot_key
from tests.support.stock import EntityMessage, ValueMessage, unknown_fields
from tests.support.strategies import wire
from tests.support.strategies.schema import ENTITY, ENTRY


def assert_same_parts(lazy: Any, message: Any) -> None:
    """Check each part of ``lazy`` against stock's result for that part of the upb ``message``."""
    assert set(lazy) == set(message.properties)
    assert_same_key(lazy, message)
    stock_parts = {name: stock_property(name, value) for name, value in message.properties.items()}
    for name, stock in stock_parts.items():
        assert_same_property(lazy, name, message.properties[name], stock)
    assert_same_attributes(lazy, stock_parts, lambda: failures_in(message))


def assert_same_key(lazy: Any, message: Any) -> None:
    stock = outcome(_stock_key, message)
    for _ in range(2):
        assert outcome(lambda: snapshot_key(lazy.key)) == stock


def _stock_key(message: Any) -> Any:
    alone = EntityMessage()
    if message.HasField("key"):
        alone.key.CopyFrom(message.key)
    return snapshot_key(helpers.entity_from_protobuf(alone).key)


def stock_property(name: str, value: Any) -> Any:
    """Return the entity that stock makes of this one property, or its error."""
    return _stock_property(name, value.SerializeToString())


# Entities of a test differ in a few of their properties.
@functools.lru_cache(maxsize=256)
def _stock_property(name: str, serialised: bytes) -> Any:
    hollow = ValueMessage.FromString(serialised)
    _empty_nested(hollow)
    return outcome(_convert_alone, name, hollow)


def failures_in(message: Any) -> list[Raised]:
    """Return stock's errors for each part of ``message`` alone, at all depths.

    Which of them it raises for the whole, the order decides in which upb iterates a map. That order
    is not the same in two messages that are equal.
    """
    return [
        failure
        for name, value in message.properties.items()
        for failure in _failures_of(name, value)
    ]


def _failures_of(name: str, value: Any) -> Iterator[Raised]:
    for result in (stock_property(name, value), outcome(_convert_alone, name, value)):
        if isinstance(result, Raised):
            yield result
    for nested in _nested_entities(value):
        key = outcome(_stock_key, nested)
        if isinstance(key, Raised):
            yield key
        yield from failures_in(nested)


def _nested_entities(value: Any) -> Iterator[Any]:
    """Yield the ``Entity`` messages right below ``value``."""
    if value.HasField("entity_value"):
        yield value.entity_value
    elif value.HasField("array_value"):
        for item in value.array_value.values:
            yield from _nested_entities(item)


def _convert_alone(name: str, value: Any) -> Entity:
    alone = EntityMessage()
    alone.properties[name].CopyFrom(value)
    entity: Entity = helpers.entity_from_protobuf(alone)
    return entity


def _empty_nested(value: Any) -> None:
    for nested in _nested_entities(value):
        nested.Clear()
        nested.SetInParent()


def assert_same_property(lazy: Any, name: str, message: Any, stock: Any) -> None:
    """Check property ``name`` against ``stock``, as :func:`stock_property` gives it.

    A read that fails leaves the entity as it was, and fails the same way again.
    """
    before = lazyentity.decoded(lazy)
    read = outcome(lambda: lazy[name])
    if not isinstance(stock, Raised):
        _assert_same_value(read, message, stock[name])
        assert lazy[name] is read
        return
    # Where a nested entity has a fault, stock meets that one first.
    assert read == stock or read in _failures_of(name, message)
    assert lazyentity.decoded(lazy) == before
    assert outcome(lambda: lazy[name]) == read
    assert outcome(lambda: lazy.get(name)) == read
    assert outcome(lambda: lazy.pop(name)) == read
    assert lazyentity.decoded(lazy) == before


def _assert_same_value(value: Any, message: Any, stock: Any) -> None:
    if message.HasField("entity_value"):
        assert isinstance(value, LazyEntityBase)
        assert_same_parts(value, message.entity_value)
    elif message.HasField("array_value"):
        assert type(value) is list
        for item, item_message, stock_item in zip(
            value, message.array_value.values, stock, strict=True
        ):
            _assert_same_value(item, item_message, stock_item)
    else:
        assert snapshot(value) == snapshot(stock)


def assert_same_attributes(
    lazy: Any, stock_parts: dict[str, Any], failures: Callable[[], Iterable[Raised]]
) -> None:
    """Check that flags and meanings are right, or raise one of the ``failures``."""
    sound = {name: part for name, part in stock_parts.items() if isinstance(part, Entity)}
    excluded = outcome(lambda: lazy.exclude_from_indexes & sound.keys())
    if isinstance(excluded, Raised):
        assert_some_failure(excluded, failures())
    else:
        assert excluded == {name for name, part in sound.items() if part.exclude_from_indexes}
    meanings = outcome(lambda: lazy._meanings)
    if isinstance(meanings, Raised):
        assert_some_failure(meanings, failures())
    else:
        of_sound = {name: meanings[name][0] for name in meanings.keys() & sound.keys()}
        assert of_sound == {
            name: part._meanings[name][0] for name, part in sound.items() if part._meanings
        }
        assert all(meanings[name][1] is lazy[name] for name in of_sound)


def assert_some_failure(raised: Raised, failures: Iterable[Raised]) -> None:
    """Check that ``raised`` is one of ``failures``; DecodeErrors differ in their text."""
    assert any(
        raised.kind is DecodeError if issubclass(failure.kind, DecodeError) else raised == failure
        for failure in failures
    )


def failures_inside(value: Any) -> Iterator[Raised]:
    """Read everything in ``value``, at all depths, and yield the errors."""
    if isinstance(value, list):
        for item in value:
            yield from failures_inside(item)
    elif isinstance(value, Entity):
        reads = [
            *(
                outcome(getattr, value, name)
                for name in ("key", "exclude_from_indexes", "_meanings")
            ),
            *(outcome(operator.getitem, value, name) for name in value),
        ]
        for read in reads:
            if isinstance(read, Raised):
                yield read
            else:
                yield from failures_inside(read)


# Protobuf's limit is a hundred messages, two or three for each level, counted from the one that it
# parses. A lazy entity is parsed in parts.
_DEEP = 25


def assert_reads_like_its_parts(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """Check a lazy entity of ``raw`` of any bytes, as far as its parts can be parsed."""
    message = outcome(lambda: EntityMessage.FromString(raw))
    lazy = outcome(lambda: lazy_type.from_bytes(raw))
    if not isinstance(message, Raised):
        assert_same_parts(lazy, message)
        return
    assert message.kind is DecodeError
    if isinstance(lazy, Raised):
        assert lazy.kind is DecodeError
        return
    keys, entries = _split(raw)
    _assert_same_key_alone(lazy, keys)
    names = [_name(entry) for entry in entries]
    last = dict(zip(names, entries, strict=True))
    # Protobuf takes an entry with an unknown field inside for an unknown field, but only if it does
    # not reject the value.
    uncertain = {name for name, entry in zip(names, entries, strict=True) if _has_unknown(entry)}
    assert lazy.keys() - uncertain == last.keys() - uncertain
    parts: dict[str, Any] = {}
    failures: list[Raised] = []
    messages: list[Any] = []
    for name in lazy.keys() - uncertain:
        alone = outcome(_message_of, last[name])
        if isinstance(alone, Raised):
            _assert_undecodable(lazy, name, alone)
            failures.append(alone)
            continue
        parts[name] = stock_property(name, alone.properties[name])
        messages.append(alone)
        assert_same_property(lazy, name, alone.properties[name], parts[name])
    if not uncertain:
        assert_same_attributes(
            lazy,
            parts,
            lambda: itertools.chain(failures, *map(failures_in, messages)),
        )
    _assert_can_be_passed_on(lazy_type, raw)


def _assert_can_be_passed_on(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """Unread properties are written as they were received, and read the same afterwards."""
    before = lazy_type.from_bytes(raw)
    after = lazy_type.from_bytes(lazyentity.raw(before))
    assert after.keys() == before.keys()
    for name in after:
        kinds = [
            read.kind if isinstance(read, Raised) else type(read)
            for read in (outcome(operator.getitem, entity, name) for entity in (before, after))
        ]
        assert kinds[0] is kinds[1]


class _Malformed(Exception):
    """No entity can be made: the message, an entry of it or a name in it is malformed."""


def _split(raw: bytes) -> tuple[list[bytes], list[bytes]]:
    """Return keys and entries, told apart by a message that knows no field at all."""
    try:
        fields = unknown_fields(Empty.FromString(raw))
    except DecodeError:
        raise _Malformed from None
    parts = [
        [
            field.data
            for field in fields
            if (field.field_number, field.wire_type) == (number, wire.DELIMITED)
        ]
        for number in (ENTITY.key, ENTITY.properties)
    ]
    return parts[0], parts[1]


def _name(entry: bytes) -> str:
    """Return the name of an entry, read by a message that knows no other field."""
    try:
        return StringValue.FromString(entry).value
    except DecodeError:
        raise _Malformed from None


def _has_unknown(entry: bytes) -> bool:
    known = {(ENTRY.key, wire.DELIMITED), (ENTRY.value, wire.DELIMITED)}
    fields = unknown_fields(Empty.FromString(entry))
    return any((field.field_number, field.wire_type) not in known for field in fields)


def _message_of(entry: bytes) -> Any:
    return EntityMessage.FromString(wire.delimited(ENTITY.properties, entry).encode())


def _assert_same_key_alone(lazy: LazyEntity, keys: list[bytes]) -> None:
    raw = wire.encode(wire.delimited(ENTITY.key, key) for key in keys)
    alone = outcome(lambda: EntityMessage.FromString(raw))
    if isinstance(alone, Raised):
        assert outcome(lambda: lazy.key).kind is DecodeError
    else:
        assert_same_key(lazy, alone)


def _assert_undecodable(lazy: LazyEntity, name: str, alone: Raised) -> None:
    """A failed read says which property it was, leaves the entity as it was, and fails again.

    Args:
        lazy: the entity.
        name: of the property.
        alone: what protobuf raises for this property alone.
    """
    before = lazyentity.decoded(lazy)
    read = outcome(operator.getitem, lazy, name)
    if isinstance(read, Raised):
        assert read.kind is DecodeError
        assert repr(name) in read.text
        assert outcome(operator.getitem, lazy, name) == read
        assert lazyentity.decoded(lazy) == before
        assert name in lazy
    else:
        is_refused = any(failure.kind is DecodeError for failure in failures_inside(read))
        # What is deep may be in an unknown field, which is not read.
        assert is_refused or "MaxDepth" in alone.text or _depth(read) > _DEEP


def _depth(value: Any) -> int:
    """Return the levels of lists and entities in a value, of which some cannot be read."""
    if isinstance(value, dict):
        value = [outcome(operator.getitem, value, name) for name in value]
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0
