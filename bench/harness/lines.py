"""The lines of a results file of ``python -m lazyentity.bench``: cases, then their figures.

A ratio is stock over lazy where nothing else is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lazyentity.bench.harness.stats import Summary

Growing = Literal["properties", "entities"]
UNITS: dict[Growing, str] = {"properties": "property", "entities": "entity"}
"""The units that may grow, plural and singular."""

APPENGINE_CALLS = (
    "datastore.Get",
    "db.get",
    "ndb query",
    "ndb get_multi",
    "ndb get_multi, memcache miss",
    "ndb get_multi, put_multi",
    "Entity._FromPb",
    "Entity._FromPb, lists",
    "ndb _from_pb",
)
"""The ways to read entities of App Engine's client: the mixes of its lines."""

RESPONSE_MODEL = "FastAPI, response_model of 6 fields"
DICTS = "FastAPI, list[dict]"
ORJSON = "orjson.dumps, 1 MB without entities"
VALIDATE = "pydantic, validate_python into a model of 3 fields"
"""Uses of libraries with an adapter."""


@dataclass(frozen=True, kw_only=True)
class Sides:
    """One case on both sides, in one unit."""

    stock: Summary
    lazy: Summary
    ratio: Summary


@dataclass(frozen=True, kw_only=True)
class _Compared(Sides):
    """Entities on both sides. ``wire_bytes`` is the size of an entity."""

    properties: int
    entities: int
    wire_bytes: int


@dataclass(frozen=True)
class Conversion(_Compared):
    """Bytes in, entities out, then reads: microseconds per entity.

    ``upb_parse`` is protobuf's own parse of the same entities and nothing else.
    """

    mix: str
    read: str
    upb_parse: Summary
    over_upb_parse: Summary


@dataclass(frozen=True)
class DocumentFloor(Sides):
    """Ways to read the whole document, with one and the same loop: milliseconds.

    ``json`` parses it as JSON into plain dicts with msgspec, ``loop`` reads once more an entity
    that is decoded already. ``json_ratio`` is stock over json, ``over_json`` lazy over json (none
    in older files).
    """

    json: Summary
    loop: Summary
    json_ratio: Summary
    over_json: Summary | None = None


@dataclass(frozen=True)
class Memory(_Compared):
    """Bytes held per entity, each side in separate processes. ``ratio`` is lazy over stock."""

    read: str
    upb_message: Summary


@dataclass(frozen=True)
class EndToEnd(Sides):
    """Milliseconds of wall time per call through the client, from call to last value read.

    ``floor`` is the same client path returning undecoded bytes; ``None`` where there is none.
    ``changed`` is how many properties of each entity are changed and written back; then the last
    write ends the call.
    """

    call: str
    entities: int
    properties: int
    read: str
    floor: Summary | None = None
    over_floor: Summary | None = None
    changed: int = 0

    @property
    def done(self) -> str:
        """The caller's work on each entity, in words."""
        return f"{self.changed} changed" if self.changed else f"{self.read} read"


@dataclass(frozen=True)
class ReadModifyWrite(_Compared):
    """Bytes in, one property read, some ``changed``, bytes out: microseconds per entity."""

    mix: str
    changed: str


@dataclass(frozen=True)
class Put(_Compared):
    """Fresh entities in, messages out: microseconds per entity, bytes of a message."""

    mix: str


@dataclass(frozen=True)
class ScalingPoint:
    """Bytes of a response in, entities out, then reads: microseconds per property, or per entity.

    ``properties`` is of each entity, ``wire_bytes`` is the size of the response. ``stock`` is
    ``None`` where it was not timed. ``growth`` is the lazy cost per unit over that of the point
    before, the smallest having none: 1 where the whole cost grows linearly.
    """

    entities: int
    properties: int
    wire_bytes: int
    lazy: Summary
    stock: Summary | None
    growth: Summary | None


@dataclass(frozen=True)
class Scaling:
    """The costs of conversion as one response grows; they are per unit of ``growing``."""

    growing: Growing
    read: str
    points: list[ScalingPoint]

    @property
    def largest(self) -> int:
        """The size of the largest response."""
        size: int = getattr(self.points[-1], self.growing)
        return size

    @property
    def growth(self) -> Summary | None:
        """The growth from the last size but one to the largest."""
        return self.points[-1].growth


@dataclass(frozen=True)
class NewNames(Sides):
    """Bytes in, everything read, no name ever seen before: microseconds per entity.

    ``of`` is the class read: entities, or ndb's Models or Expandos. The megabytes are
    held by a process after a stream of them, ``memory_ratio`` is lazy over stock.
    """

    of: str
    names: int
    stock_mb: Summary
    lazy_mb: Summary
    memory_ratio: Summary


@dataclass(frozen=True)
class PlainValues:
    """Bytes in, plain dicts out by ``to_dict()``: microseconds per entity.

    ``decode`` is the same with everything decoded in place. ``ratio`` is to_dict over decode.
    """

    properties: int
    decode: Summary
    to_dict: Summary
    ratio: Summary


@dataclass(frozen=True)
class Access:
    """Nanoseconds of ``entity["name"]`` once decoded, and of a plain dict's subscript."""

    entity: Summary
    plain_dict: Summary
    ratio: Summary


@dataclass(frozen=True)
class Adapted(Sides):
    """A use of a library with an adapter, no network in it: microseconds.

    ``stock`` is the time with stock entities and no adapter. ``ratio`` is lazy over stock, ``more``
    the difference.
    """

    use: str
    more: Summary


@dataclass(frozen=True)
class OwnCall:
    """A query of the user's own entities: milliseconds of wall time, with nothing decoded.

    ``rate`` is how many such calls a second the savings are given for.
    """

    entities: int
    rate: float
    undecoded: Summary


@dataclass(frozen=True)
class Packed(Sides):
    """A document of ``values`` small values, embedded and packed: milliseconds.

    ``use`` is ``"write"`` (document in, message out) or ``"read"`` (the reverse) for the conversion
    alone, ``"put"`` or ``"get"`` end to end. The bytes are the size of the stored entity.
    ``stock`` and ``lazy`` embed the document, ``packed`` packs it with a stock client. ``ratio`` is
    stock over packed, ``over_lazy`` lazy over packed.
    """

    use: str
    size: str
    values: int
    embedded_bytes: int
    packed_bytes: int
    packed: Summary
    over_lazy: Summary


@dataclass(frozen=True)
class Columns(Sides):
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
    columns: Summary
    lists: Summary
    entities_alone: Summary
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
