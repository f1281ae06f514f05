"""The native backend's side of :class:`lazyentity._backend.Backend`."""

from __future__ import annotations

# The backend serves as a whole or not at all; these three are no part of its Protocol.
import lazyentity.native.alive
import lazyentity.native.inplace
import lazyentity.native.items  # noqa: F401
from lazyentity.native.columns import append_columns, fixed_width
from lazyentity.native.decoding import Walk
from lazyentity.native.documentencoder import DocumentWriter
from lazyentity.native.documentreader import DocumentReader
from lazyentity.native.documents import DocumentBytes
from lazyentity.native.eager import stock_from_raw
from lazyentity.native.encoder import serialise_entity, write_entity
from lazyentity.native.entityproto import PropertyIndex
from lazyentity.native.jsontypes import is_json
from lazyentity.native.keys import complete_key_bytes, key_bytes, key_message
from lazyentity.native.mapping import LazyMapping
from lazyentity.native.profiling import count_entity
from lazyentity.native.responses import (
    Conversion,
    EntityBytes,
    ResultBytes,
    Retyped,
    convert_found,
    split_lookup,
    split_query,
)
from lazyentity.native.types import type_version

__all__ = [
    "Conversion",
    "DocumentBytes",
    "DocumentReader",
    "DocumentWriter",
    "EntityBytes",
    "LazyMapping",
    "PropertyIndex",
    "ResultBytes",
    "Retyped",
    "Walk",
    "append_columns",
    "complete_key_bytes",
    "convert_found",
    "count_entity",
    "fixed_width",
    "is_json",
    "key_bytes",
    "key_message",
    "serialise_entity",
    "split_lookup",
    "split_query",
    "stock_from_raw",
    "type_version",
    "write_entity",
]
