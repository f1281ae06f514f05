"""The names of :class:`lazyentity._backend.protocols.Backend` in the pure backend."""

from __future__ import annotations

from lazyentity.pure.columns import append_columns as append_columns, fixed_width as fixed_width
from lazyentity.pure.entities import (
    EntityBytes as EntityBytes,
    EntityIterator as EntityIterator,
    EntityReader as EntityReader,
    ReadRpc as ReadRpc,
    ResultBytes as ResultBytes,
    ViewAs as ViewAs,
    convert_found as convert_found,
    split_lookup as split_lookup,
    split_query as split_query,
    stock_from_raw as stock_from_raw,
)
from lazyentity.pure.jsontypes import is_json as is_json
from lazyentity.pure.mapping import LazyMapping as LazyMapping
from lazyentity.pure.writing import (
    complete_key_bytes as complete_key_bytes,
    is_well_formed as is_well_formed,
    key_bytes as key_bytes,
    key_message as key_message,
    mutation_parts as mutation_parts,
    serialise_entity as serialise_entity,
    write_entity as write_entity,
)
