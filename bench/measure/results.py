"""The results file of the benchmark: its contents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from lazyentity.bench.measure import files
from lazyentity.bench.measure.beside_results import AdapterCost, Columns, ColumnsMemory, Packed
from lazyentity.bench.measure.environment import Environment
from lazyentity.bench.measure.stats import Summary

SCHEMA = 2

BIAS = (
    "One machine, synthetic entities whose bytes stay warm in its caches, and no network but the "
    "loopback interface: a real service adds latency that no decoder can take away. Ratios are "
    "taken pair by pair from interleaved rounds; the garbage collector is off while the clock runs."
)
"""The bias of every figure; shown wherever figures are shown."""

OWN_BIAS = (
    "Your entities, on this machine: their bytes stay warm in its caches, and the garbage "
    "collector is off while the clock runs. A call is the query as this machine sends it, timed "
    "with nothing decoded; the CPU time of decoding is taken by itself, on the same bytes, and "
    "added."
)
"""The bias of a run on the user's own entities."""

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


@dataclass(frozen=True)
class _Compared:
    """One case on both sides, in one unit. ``wire_bytes`` is the size of one entity."""

    properties: int
    entities: int
    wire_bytes: int
    stock: Summary
    lazy: Summary
    ratio: Summary


@dataclass(frozen=True)
class Conversion(_Compared):
    """Bytes in, entities out, then reads: microseconds per entity.

    ``upb_parse`` is protobuf's own parse of the same entities and nothing else. ``ratio`` is stock
    over lazy.
    """

    mix: str
    read: str
    upb_parse: Summary
    over_upb_parse: Summary


@dataclass(frozen=True)
class DocumentFloor:
    """Ways to read the whole document, with one and the same loop: milliseconds.

    - ``json``: parsing it as JSON into plain dicts with msgspec, and reading these.
    - ``loop``: reading once more an entity that is decoded already.

    ``ratio`` is stock over lazy, ``json_ratio`` stock over json, ``over_json`` lazy over json (none
    in older files).
    """

    stock: Summary
    lazy: Summary
    json: Summary
    loop: Summary
    ratio: Summary
    json_ratio: Summary
    over_json: Summary | None = None


@dataclass(frozen=True)
class Memory(_Compared):
    """Bytes held per entity, each side in processes of its own. ``ratio`` is lazy over stock."""

    read: str
    upb_message: Summary


@dataclass(frozen=True)
class EndToEnd:
    """Milliseconds of wall time per call through the client, from call to last value read.

    ``floor`` is the same client path returning undecoded bytes; ``None`` where there is none.
    ``changed`` is how many properties of each entity are changed and written back; then the last
    write ends the call. ``ratio`` is stock over lazy.
    """

    call: str
    entities: int
    properties: int
    read: str
    stock: Summary
    lazy: Summary
    floor: Summary | None
    ratio: Summary
    over_floor: Summary | None
    changed: int = 0

    @property
    def done(self) -> str:
        """The caller's work on each entity, in words."""
        return f"{self.changed} changed" if self.changed else f"{self.read} read"


@dataclass(frozen=True)
class ReadModifyWrite(_Compared):
    """Bytes in, one property read, some ``changed``, bytes out: microseconds per entity.

    ``wire_bytes`` is the size of one entity as it is read. ``ratio`` is stock over lazy.
    """

    mix: str
    changed: str


@dataclass(frozen=True)
class Put(_Compared):
    """Fresh entities in, messages out: microseconds per entity.

    ``wire_bytes`` is the size of one serialised message. ``ratio`` is stock over lazy.
    """

    mix: str


@dataclass(frozen=True)
class ScalingPoint:
    """Bytes of one response in, entities out, then reads: microseconds per property, or per entity.

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
class NewNames:
    """Bytes in, everything read, no name ever seen before: microseconds per entity.

    ``of`` is the class read: entities, or ndb's Models or Expandos. The megabytes are those of a
    process after a stream of them. ``ratio`` is stock over lazy, ``memory_ratio`` lazy over stock.
    """

    of: str
    names: int
    stock: Summary
    lazy: Summary
    ratio: Summary
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


RESPONSE_MODEL = "FastAPI, response_model of 6 fields"
DICTS = "FastAPI, list[dict]"
ORJSON = "orjson.dumps, 1 MB without entities"
VALIDATE = "pydantic, validate_python into a model of 3 fields"
"""Uses of libraries with an adapter."""


@dataclass(frozen=True)
class Adapted:
    """A use of a library with an adapter, no network in it: microseconds.

    ``stock`` is the time with stock entities and no adapter. ``ratio`` is lazy over stock, ``more``
    the difference.
    """

    use: str
    stock: Summary
    lazy: Summary
    ratio: Summary
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
class Results:
    """One run. Mode ``own`` is a run on the user's own entities, which ``source`` names.

    An ``interrupted`` run ended early, and lacks some of its measurements. Older files have no
    writes, floor of the document, new names or plain values.
    """

    schema: Annotated[int, msgspec.Meta(ge=SCHEMA, le=SCHEMA)]
    date: str
    mode: Literal["quick", "full", "own"]
    environment: Environment
    conversion: list[Conversion]
    memory: list[Memory]
    end_to_end: list[EndToEnd]
    scaling: list[Scaling]
    import_ms: Summary | None
    access: Access | None
    source: str | None = None
    bias: str = BIAS
    read_modify_write: list[ReadModifyWrite] = field(default_factory=list)
    puts: list[Put] = field(default_factory=list)
    document_floor: DocumentFloor | None = None
    new_names: list[NewNames] = field(default_factory=list)
    plain_values: list[PlainValues] = field(default_factory=list)
    adapted: list[Adapted] = field(default_factory=list)
    own_call: OwnCall | None = None
    interrupted: bool = False
    packed: list[Packed] = field(default_factory=list)
    columns: list[Columns] = field(default_factory=list)
    columns_memory: ColumnsMemory | None = None
    adapter_costs: list[AdapterCost] = field(default_factory=list)

    @property
    def has_floor(self) -> bool:
        """Whether calls were measured with nothing decoded as well."""
        return any(line.floor is not None for line in self.end_to_end)


def load(path: Path) -> Results:
    """Read a results file of the benchmark.

    Raises:
        files.ResultsError: it cannot be read, or is no results file of this schema.
    """
    return files.load(path, Results, SCHEMA)


def with_calls(earlier: Results, later: Results) -> Results:
    """Return results with the end-to-end calls that a later run of the same mode measured anew.

    Raises:
        files.ResultsError: the later run is of another mode, or of another environment.
    """
    if (later.mode, later.environment) != (earlier.mode, earlier.environment):
        raise files.ResultsError(
            "the results that were to be completed are of another mode or environment; measure all"
        )
    calls = {line.call for line in later.end_to_end}
    kept = [line for line in earlier.end_to_end if line.call not in calls]
    return replace(earlier, end_to_end=[*kept, *later.end_to_end])
