"""The counters of a profile: entities by site and kind, properties by name.

No count is lost between threads under the GIL: reading a number of an instance or of a dict of
strings and storing the next one calls no Python code, and CPython switches threads only at calls
and jumps.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from types import CodeType, FrameType
from typing import Any, Final

from lazyentity.codec.describing import plain_name
from lazyentity.profiling import callsites
from lazyentity.profiling.callsites import APPLICATION, OTHERS, ROLES, CallSite, Reception
from lazyentity.profiling.counts import Counts, Line, Model

MAX_NAMES: Final = 1000
"""How many names of a call site and kind are counted one by one; all others share one count."""
MAX_SHAPES: Final = 64
_MAX_CALL_SITES = 2000
_MAX_LINES = 5000

OTHER_NAMES: Final = "(other names)"
EVERY_PROPERTY: Final = "every property by name"
"""The operation of an instruction that reads property after property, as ``dict(entity)`` does."""

_EPOCH = monotonic()
"""Moments are small numbers: they are multiplied by bytes and added up."""


def count_name(counts: dict[str, int], name: str) -> None:
    """Count a property by its name; there are :data:`MAX_NAMES` of these at most."""
    if type(name) is not str:
        # It would be kept, and be shown by its own methods.
        name = plain_name(name)
    try:
        counts[name] += 1
    except KeyError:
        known = name if len(counts) < MAX_NAMES else OTHER_NAMES
        counts.setdefault(known, 0)
        counts[known] += 1


class EntityCounts:
    """Counters of a received entity, owned by the entity.

    Attributes:
        call_site: the entities of the same kind that came to the same site.
    """

    __slots__ = (
        "_born",
        "_code",
        "_instruction",
        "_is_validated",
        "_left",
        "_line",
        "_reads",
        "_run",
        "_size",
        "_total",
        "call_site",
    )

    # Of the last read; the first read sets both, together with the code.
    _instruction: int
    _run: int

    def __init__(self, call_site: CallSiteCounts, born: float, size: int, total: int) -> None:
        self.call_site = call_site
        self._reads = call_site.reads
        self._born = born
        self._size = size
        self._left = self._total = total
        self._code: CodeType | None = None
        self._line: Line | None = None
        self._is_validated = False

    def expect(self, total: int) -> None:
        """Set how many properties can be read: a model has no others."""
        self._left = self._total = total

    def read(self, name: str, frame: FrameType | None = None) -> None:
        """Count the decoding of a property.

        Args:
            name: the property.
            frame: the frame of the reader, or of a function that it called; None for the caller's.
        """
        # The hottest function: it calls as little as it can.
        try:
            self._reads[name] += 1
        except KeyError:
            count_name(self._reads, name)
        self._left = left = self._left - 1
        near = sys._getframe(1) if frame is None else frame
        code = near.f_code
        if ROLES.get(code.co_filename) != APPLICATION:
            near = callsites.near(near)
            code = near.f_code
        if code is self._code and near.f_lasti == self._instruction:
            self._run = run = self._run + 1
            if left == 0 and 2 * run >= self._total:
                self.call_site.count_whole(EVERY_PROPERTY, run)
        else:
            self._code = code
            self._instruction = near.f_lasti
            self._run = 1

    def read_whole(self, names: list[str], operation: str) -> None:
        """Count an operation that decoded all undecoded properties."""
        self._left = 0
        self.copied(names, operation)

    def copied(self, names: list[str], operation: str = "") -> None:
        """Count properties that were decoded for a result; the entity stays as it is.

        Args:
            names: of these properties.
            operation: as users know it, if it decoded all properties.
        """
        counts = self.call_site.wholes if operation else self._reads
        for name in names:
            count_name(counts, name)
        if operation:
            self._line = self.call_site.count_whole(operation, len(names))

    def validated(self, model: Model, names: Collection[str]) -> None:
        """Note a pydantic model whose fields are taken from the entity.

        Args:
            model: its fields.
            names: of the entity's properties.
        """
        if self._line is not None:
            self._line.add_model(model, names, not self._is_validated)
            self._is_validated = True

    def __del__(self) -> None:
        self.call_site.leave(self._born, self._size)


class CallSiteCounts:
    """The running counts of the entities of a kind that one site received.

    Attributes:
        reads: how many times each property was decoded by itself.
        wholes: how many times it was decoded together with all others.
        by_shape: counters of the native backend, by the shape of their entities.
        has_no_options, obstacle, are_of_queries, uses, eager, eager_size: as of
            :class:`~lazyentity.profiling.counts.Counts`.
    """

    def __init__(self, data: ProfileData, site: CallSite, kind: str | None) -> None:
        self.site = site
        self.kind = kind
        self.reads: dict[str, int] = {}
        self.wholes: dict[str, int] = {}
        self.by_shape: dict[Any, Any] = {}
        self.has_no_options = False
        self.obstacle = ""
        self.are_of_queries = True
        self.uses: set[str] = set()
        self.eager = self.eager_size = 0
        self._data = data
        self._entities = self._size = self._alive = self._alive_size = 0
        # Bytes times the moment of receipt, summed over the entities that are in memory.
        self._born = 0.0
        # Of the entities that are gone.
        self._byte_seconds = self._longest = 0.0
        self._shapes: dict[Any, int] = {}
        self._received: dict[str, int] = {}

    def add(self, names: Collection[str], shape: Any, size: int) -> EntityCounts:
        """Count an entity.

        Args:
            names: of its properties.
            shape: of the backend; None, if no other entity has the shape.
            size: the bytes of the entity.
        """
        shapes = self._shapes
        if shape in shapes:
            shapes[shape] += 1
        elif shape is None or len(shapes) >= MAX_SHAPES:
            self.count_received(names)
        else:
            shapes.setdefault(shape, 0)
            shapes[shape] += 1
        born = monotonic() - _EPOCH
        self._entities += 1
        self._size += size
        self._alive += 1
        self._alive_size += size
        self._born += size * born
        return EntityCounts(self, born, size, len(names))

    def count_received(self, names: Iterable[str]) -> None:
        """Count the properties of an entity by their names."""
        for name in names:
            count_name(self._received, name)

    def leave(self, born: float, size: int) -> None:
        """Count an entity that is no longer in memory."""
        seconds = monotonic() - _EPOCH - born
        self._alive -= 1
        self._alive_size -= size
        self._born -= size * born
        self._byte_seconds += size * seconds
        if seconds > self._longest:
            # One thread may overwrite the maximum of another: this maximum need not be exact.
            self._longest = seconds

    def count_eager(self, size: int) -> None:
        """Count an entity that became a stock entity."""
        self.eager += 1
        self.eager_size += size

    def count_whole(self, operation: str, properties: int) -> Line:
        """Count an operation that decoded several properties at once; return its line."""
        user = callsites.find_user(self._data.receptions.get(self.site))
        line = self._data.line(self._data.wholes, (user, operation, self.kind))
        line.calls += 1
        line.properties += properties
        return line

    def counts(self) -> Counts:
        """Return the counts so far."""
        counts = Counts(
            entities=self._entities,
            size=self._size,
            eager=self.eager,
            eager_size=self.eager_size,
            byte_seconds=self._byte_seconds,
            has_no_options=self.has_no_options,
            obstacle=self.obstacle,
            are_of_queries=self.are_of_queries,
            uses=frozenset(self.uses),
        )
        held = (monotonic() - _EPOCH) * self._alive_size - self._born
        counts.add_alive(self._alive, self._alive_size, held, self._longest)
        received = dict(self._received)
        for shape, entities in self._shapes.copy().items():
            for name in shape.ordinals:
                received[name] = received.get(name, 0) + entities
        counts.add_names(received=received, read=dict(self.reads), whole=dict(self.wholes))
        for counter in list(self.by_shape.values()):
            counter.add_to(counts)
        return counts


LineKey = tuple[CallSite, str, str | None]
"""The site, the operation or the use that was refused, and the kind; None for the latter."""


class ProfileData:
    """All counts of a process.

    Attributes:
        call_sites: by site and kind.
        wholes: the operations that decoded several properties at once.
        sentinels: the uses of an undecoded property's sentinel.
        receptions: by the site of the entities.
    """

    def __init__(self) -> None:
        self.call_sites: dict[tuple[CallSite, str | None], CallSiteCounts] = {}
        self.wholes: dict[LineKey, Line] = {}
        self.sentinels: dict[LineKey, Line] = {}
        self.receptions: dict[CallSite, Reception] = {}

    def site(self) -> CallSite:
        """Return the line of the application that receives entities now."""
        return callsites.receive(self.receptions)

    def call_site(self, site: CallSite, kind: str | None) -> CallSiteCounts:
        """Return the counts of a kind at a call site; shared ones, if there are too many."""
        known = self.call_sites.get((site, kind))
        if known is not None:
            return known
        if len(self.call_sites) >= _MAX_CALL_SITES:
            site = OTHERS
        if len(self.call_sites) >= 2 * _MAX_CALL_SITES:
            kind = "(other kinds)"
        return self.call_sites.setdefault((site, kind), CallSiteCounts(self, site, kind))

    def line(self, lines: dict[LineKey, Line], key: LineKey) -> Line:
        """Return the line of a key; if there are too many lines, that of all other sites."""
        known = lines.get(key)
        if known is not None:
            return known
        if len(lines) >= _MAX_LINES:
            key = OTHERS, key[1], None
        return lines.setdefault(key, Line())

    def count_sentinel(self, use: str) -> None:
        """Count the use of a sentinel that C code got past the methods of an entity."""
        self.line(self.sentinels, (callsites.find(), use, None)).calls += 1


@dataclass(frozen=True)
class Snapshot:
    """The counts of a profile at one moment, or the difference of two moments.

    Attributes:
        seconds: the moment, as of ``time.monotonic()``, or the time between two.
        call_sites: the entities of a kind that a site received.
        wholes: the operations that decoded several properties at once.
        sentinels: the uses of the sentinel.
    """

    seconds: float = 0.0
    call_sites: Mapping[tuple[CallSite, str | None], Counts] = field(default_factory=dict)
    wholes: Mapping[LineKey, Line] = field(default_factory=dict)
    sentinels: Mapping[LineKey, Line] = field(default_factory=dict)

    @classmethod
    def of(cls, data: ProfileData) -> Snapshot:
        """Return the counts now."""
        # Copies: other threads add to the data. While a list of items is made, CPython before 3.12
        # may collect garbage, and so run other threads.
        return cls(
            monotonic(),
            {key: call_site.counts() for key, call_site in data.call_sites.copy().items()},
            {key: line.copy() for key, line in data.wholes.copy().items()},
            {key: line.copy() for key, line in data.sentinels.copy().items()},
        )

    def since(self, earlier: Snapshot) -> Snapshot:
        """Return what was counted after an earlier moment."""
        call_sites = {
            key: counts.since(earlier.call_sites.get(key, Counts()))
            for key, counts in self.call_sites.items()
        }
        return Snapshot(
            self.seconds - earlier.seconds,
            {
                key: counts
                for key, counts in call_sites.items()
                if counts.entities or counts.eager or counts.alive or counts.decoded
            },
            _lines_since(self.wholes, earlier.wholes),
            _lines_since(self.sentinels, earlier.sentinels),
        )


def _lines_since(
    lines: Mapping[LineKey, Line], earlier: Mapping[LineKey, Line]
) -> dict[LineKey, Line]:
    later = {key: line.since(earlier.get(key, Line())) for key, line in lines.items()}
    return {key: line for key, line in later.items() if line.calls}
