"""The pure backend's side of :class:`lazyentity._backend.abc.Backend`."""

from __future__ import annotations

from lazyentity.pure.adapting import type_version
from lazyentity.pure.columns import append_columns, fixed_width
from lazyentity.pure.documentencoder import DocumentWriter
from lazyentity.pure.documentreader import DocumentReader
from lazyentity.pure.documents import DocumentBytes
from lazyentity.pure.eager import stock_from_raw
from lazyentity.pure.encoder import is_well_formed, serialise_entity, write_entity
from lazyentity.pure.entityproto import PropertyIndex
from lazyentity.pure.jsontypes import is_json
from lazyentity.pure.mapping import LazyMapping
from lazyentity.pure.requests import complete_key_bytes, key_bytes, key_message, mutation_parts
from lazyentity.pure.responses import (
    EntityBytes,
    EntityIterator,
    EntityReader,
    ReadRpc,
    ResultBytes,
    ViewAs,
    convert_found,
    split_lookup,
    split_query,
)

__all__ = [
    "DocumentBytes",
    "DocumentReader",
    "DocumentWriter",
    "EntityBytes",
    "EntityIterator",
    "EntityReader",
    "LazyMapping",
    "PropertyIndex",
    "ReadRpc",
    "ResultBytes",
    "ViewAs",
    "append_columns",
    "complete_key_bytes",
    "convert_found",
    "fixed_width",
    "is_json",
    "is_well_formed",
    "key_bytes",
    "key_message",
    "mutation_parts",
    "serialise_entity",
    "split_lookup",
    "split_query",
    "stock_from_raw",
    "type_version",
    "write_entity",
]
