"""Checks of a written lazy entity: unread properties as received, the rest as stock writes it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity

from tests.support.snapshots import snapshot_key
from tests.support.stock import EntityMessage, ValueMessage, comparable, content_of, stock_entity


def assert_written(serialised: bytes, stock: Entity, raw: bytes, unread: Set[str]) -> None:
    """Check the serialised form of a written lazy entity. The client must not be patched.

    Args:
        serialised: the written entity.
        stock: a stock entity after the same operations.
        raw: the bytes that the lazy entity was made from.
        unread: the properties that are still undecoded.
    """
    original, message = EntityMessage.FromString(raw), EntityMessage.FromString(serialised)
    assert set(message.properties) == stock.keys(), (message, stock)
    for name in stock:
        expected = stock_encoding(stock, name)
        written = message.properties[name]
        if name in unread:
            assert as_stock_writes(name, original.properties[name]) == expected, name
            assert content_of(written) == content_of(original.properties[name]), name
        elif comparable(written) != expected:
            # We keep more of embedded entities that were not read.
            read_again = as_stock_writes(name, ValueMessage.FromString(expected))
            assert as_stock_writes(name, written) == read_again, name
    key = helpers.key_from_protobuf(message.key) if message.HasField("key") else None
    ours, theirs = snapshot_key(key), snapshot_key(stock.key)
    if ours != theirs:
        # A path with an incomplete element reads as another after being written.
        read_again = snapshot_key(helpers.key_from_protobuf(stock.key.to_protobuf()._pb))
        assert ours == read_again, f"{ours} is neither {theirs} nor {read_again}"


def stock_encoding(entity: Entity, name: str) -> bytes:
    """Return the value of a property as the stock client writes it, comparably."""
    alone = Entity()
    alone.exclude_from_indexes = entity.exclude_from_indexes
    alone[name] = entity[name]
    alone._meanings = entity._meanings
    return comparable(helpers.entity_to_protobuf(alone)._pb.properties[name])


def as_stock_writes(name: str, value: Any) -> bytes:
    """Return a value after the client has read and written it, comparably."""
    message = EntityMessage()
    message.properties[name].CopyFrom(value)
    read = stock_entity(message.SerializeToString())
    return comparable(helpers.entity_to_protobuf(read)._pb.properties[name])
