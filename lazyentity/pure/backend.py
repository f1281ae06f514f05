"""The names of :class:`lazyentity._backend.protocols.Backend` in the pure backend."""

from __future__ import annotations

from lazyentity.pure.columns import append_columns, fixed_width
from lazyentity.pure.entities import (
    EntityBytes,
    EntityIterator,
    EntityReader,
    ReadRpc,
    ResultBytes,
    ViewAs,
    convert_found,
    split_lookup,
    split_query,
    stock_from_raw,
)
from lazyentity.pure.jsontypes import is_json
from lazyentity.pure.mapping import LazyMapping
from lazyentity.pure.writing import (
    complete_key_bytes,
    is_well_formed,
    key_bytes,
    key_message,
    mutation_parts,
    serialise_entity,
    write_entity,
)

__all__ = [
    "EntityBytes",
    "EntityIterator",
    "EntityReader",
    "LazyMapping",
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
    "write_entity",
]
