"""The lines of a results file about other subjects than the core: packed documents and the like."""

from __future__ import annotations

from dataclasses import dataclass

from lazyentity.bench.measure.stats import Summary


@dataclass(frozen=True)
class Packed:
    """A document of ``values`` small values, embedded and packed: milliseconds.

    ``use`` is ``"write"`` (document in, message out) or ``"read"`` (the reverse) for the conversion
    alone, ``"put"`` or ``"get"`` end to end. The bytes are those of the stored entity. ``stock``
    and ``lazy`` embed the document, ``packed`` packs it with a stock client. ``ratio`` is stock
    over packed, ``over_lazy`` lazy over packed.
    """

    use: str
    size: str
    values: int
    embedded_bytes: int
    packed_bytes: int
    stock: Summary
    lazy: Summary
    packed: Summary
    ratio: Summary
    over_lazy: Summary


@dataclass(frozen=True)
class Columns:
    """A table of a few properties of many entities: milliseconds.

    ``source`` says where the entities come from. ``stock`` and ``lazy`` are
    ``DataFrame(list(entities))``, ``columns`` is ``to_pandas(entities, names)`` and ``lists``
    ``columns(entities, names)``, both of lazy entities. ``entities_alone`` is ``list(entities)`` of
    lazy ones, of which nothing is read. ``ratio`` is stock over columns, ``over_lazy`` lazy over
    columns.
    """

    source: str
    entities: int
    properties: int
    names: int
    stock: Summary
    lazy: Summary
    columns: Summary
    lists: Summary
    entities_alone: Summary
    ratio: Summary
    over_lazy: Summary


@dataclass(frozen=True)
class ColumnsMemory:
    """The peak of a process that takes ``entities`` through ``column_batches()``: megabytes.

    ``few`` is the peak after a hundredth of them, ``ratio`` all over few.
    """

    entities: int
    batch: int
    few: Summary
    all: Summary
    ratio: Summary


@dataclass(frozen=True)
class AdapterCost:
    """A call of an adapted library, whose arguments hold no entity.

    ``stock`` is the time without adapters, ``more`` the difference with them and no property
    undecoded, both in microseconds. ``none``, ``one`` and ``many`` are the ratios, with adapters
    over without, while so many entities of which nothing was read are elsewhere in the process.
    """

    library: str
    use: str
    stock: Summary
    more: Summary
    none: Summary
    one: Summary
    many: Summary
