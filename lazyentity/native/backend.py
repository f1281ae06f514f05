"""The native backend's side of :class:`lazyentity._backend.protocols.Backend`."""

from __future__ import annotations

from lazyentity.native.encoder import (
    complete_key_bytes as complete_key_bytes,
    is_well_formed as is_well_formed,
    key_bytes as key_bytes,
    key_message as key_message,
    mutation_parts as mutation_parts,
    serialise_entity as serialise_entity,
    write_entity as write_entity,
)
from lazyentity.native.entities import (
    EntityBytes as EntityBytes,
    EntityIterator as EntityIterator,
    EntityReader as EntityReader,
    LazyMapping as LazyMapping,
    ReadRpc as ReadRpc,
    ResultBytes as ResultBytes,
    ViewAs as ViewAs,
    append_columns as append_columns,
    convert_found as convert_found,
    fixed_width as fixed_width,
    is_json as is_json,
    split_lookup as split_lookup,
    split_query as split_query,
    stock_from_raw as stock_from_raw,
)
from lazyentity.native.entityproto import PropertyIndex as PropertyIndex
