"""The native backend's side of :class:`lazyentity._backend.protocols.Backend`."""

from __future__ import annotations

from lazyentity.native.encoder import (
    complete_key_bytes,
    is_well_formed,
    key_bytes,
    key_message,
    mutation_parts,
    serialise_entity,
    write_entity,
)
from lazyentity.native.entities import (
    EntityBytes,
    EntityIterator,
    EntityReader,
    LazyMapping,
    ReadRpc,
    ResultBytes,
    ViewAs,
    append_columns,
    convert_found,
    fixed_width,
    is_json,
    split_lookup,
    split_query,
    stock_from_raw,
)
from lazyentity.native.entityproto import PropertyIndex
