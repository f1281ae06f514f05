"""Both backends side by side, and the messages that must be equal."""

from __future__ import annotations

import importlib
from functools import partial
from operator import getitem

from google.protobuf.message import DecodeError

import lazyentity
from lazyentity import LazyEntity
from lazyentity.entity import lazy_entity_type
from lazyentity.pure import mapping
from tests.support.snapshots import Raised, outcome
from tests.support.stock import EntityMessage, comparable

NATIVE = lazy_entity_type(importlib.import_module("lazyentity.native.entities").LazyMapping)
PURE = lazy_entity_type(mapping.LazyMapping)

REFUSALS = (DecodeError, ValueError, OverflowError)


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


def _written(entity: LazyEntity) -> bytes:
    message = EntityMessage.FromString(lazyentity.raw(entity))
    # Entries with an unknown field are unknown as a whole, and need not be written.
    message.DiscardUnknownFields()
    return comparable(message)
