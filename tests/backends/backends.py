"""Both backends side by side, and the results that must be equal."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from operator import getitem
from typing import Any

from google.protobuf.message import DecodeError

import lazyentity
from lazyentity import LazyEntity
from lazyentity.entity import LazyEntityBase, lazy_entity_type
from lazyentity.pure import mapping
from tests.support.snapshots import Raised, outcome, snapshot, snapshot_key
from tests.support.stock import EntityMessage, comparable

NATIVE = lazy_entity_type(importlib.import_module("lazyentity.native.entities").LazyMapping)
PURE = lazy_entity_type(mapping.LazyMapping)

BACKENDS: dict[str, type[LazyEntity]] = {"native": NATIVE, "pure": PURE}

# Protobuf's limit is a hundred messages, two for each array, counted from the message that it
# parses. The backends parse different parts of an entity.
_DEEP = 45

REFUSALS = (DecodeError, ValueError, OverflowError)


def assert_same_access(raw: bytes, *, malformed: bool) -> None:
    """Check that each access gives the same value with both backends, or raises the same exception.

    Args:
        raw: bytes that are taken for a serialised entity.
        malformed: if protobuf's parser refuses them. The accesses that raise ``DecodeError`` may
            then differ, because the backends read different parts of the bytes.
    """
    Comparison(malformed).made(
        outcome(lambda: NATIVE.from_bytes(raw)), outcome(lambda: PURE.from_bytes(raw))
    )


def assert_same_written(raw: bytes) -> None:
    """Check that both backends write the same message, or none, when some properties were read.

    Args:
        raw: a serialised entity that protobuf's parser accepts.
    """
    written = []
    for kind in (NATIVE, PURE):
        entity = kind.from_bytes(raw)
        for name in sorted(entity)[::2]:
            outcome(partial(getitem, entity, name))
        written.append(outcome(partial(_written, entity)))
    # The order of the properties decides which of several faults is met first.
    refused = all(isinstance(side, Raised) and side.kind in REFUSALS for side in written)
    assert refused or written[0] == written[1], written


class Comparison:
    """Compares the two backends on the same bytes, access by access."""

    def __init__(self, malformed: bool) -> None:
        self._malformed = malformed

    def made(self, native: Any, pure: Any) -> None:
        """Compare two entities, or an entity with an error."""
        if self._is_settled(native, pure):
            return
        self._entities(native, pure)

    def _is_settled(self, native: Any, pure: Any) -> bool:
        """Compare the errors if one side raised; then there is nothing else to compare."""
        raised = [side for side in (native, pure) if isinstance(side, Raised)]
        assert all(issubclass(side.kind, REFUSALS) for side in raised), raised
        if raised and not (self._malformed and any(side.kind is DecodeError for side in raised)):
            assert native == pure, (native, pure)
        return bool(raised)

    def _entities(self, native: Any, pure: Any) -> None:
        # The order of properties in an embedded entity is the wire's or protobuf's.
        assert set(native) == set(pure)
        for name in native:
            ours, theirs = (outcome(partial(getitem, entity, name)) for entity in (native, pure))
            # The native side may meet a malformed part later, but only inside an entity or array.
            assert not isinstance(theirs, Raised) or _may_hold_more(ours), (ours, theirs)
            self._values(ours, theirs)
            assert isinstance(ours, Raised) or native[name] is ours
        for attribute in (_key, _excluded, _meanings, _items):
            self._attributes(attribute, native, pure)
        if not self._malformed:
            # In malformed bytes, how far is looked for a fault differs.
            assert _cases(native) == _cases(pure)

    def _values(self, native: Any, pure: Any) -> None:
        if self._is_settled(native, pure):
            return
        if isinstance(pure, LazyEntityBase):
            assert isinstance(native, LazyEntityBase)
            self._entities(native, pure)
        elif isinstance(pure, list):
            assert type(native) is list
            for native_item, pure_item in zip(native, pure, strict=True):
                self._values(native_item, pure_item)
        else:
            assert snapshot(native) == snapshot(pure)

    def _attributes(self, read: Callable[[Any], Any], native: Any, pure: Any) -> None:
        ours, theirs = outcome(lambda: read(native)), outcome(lambda: read(pure))
        if isinstance(ours, Raised) and isinstance(theirs, Raised):
            # The order of the properties decides which of several faults is met first.
            assert issubclass(ours.kind, REFUSALS), ours
        elif not self._is_settled(ours, theirs):
            assert ours == theirs, read
        else:
            assert read is not _key, (ours, theirs)


def _may_hold_more(value: Any, depth: int = 0) -> bool:
    """Say whether a value was not read to the bottom, or is as deep as protobuf lets it be."""
    if isinstance(value, list):
        return depth > _DEEP or any(_may_hold_more(item, depth + 1) for item in value)
    return isinstance(value, Raised | LazyEntityBase)


def _written(entity: LazyEntity) -> bytes:
    message = EntityMessage.FromString(lazyentity.raw(entity))
    # Entries with an unknown field are unknown as a whole, and need not be written.
    message.DiscardUnknownFields()
    return comparable(message)


def _key(entity: Any) -> Any:
    return snapshot_key(entity.key)


def _cases(entity: Any) -> dict[str, int]:
    return dict(zip(entity, entity._wire_cases(entity), strict=True))


def _excluded(entity: Any) -> Any:
    return entity.exclude_from_indexes


def _meanings(entity: Any) -> Any:
    return {
        name: (meaning, original is entity.get(name))
        for name, (meaning, original) in entity._meanings.items()
    }


def _items(entity: Any) -> Any:
    return {name for name, _ in entity.items()}
