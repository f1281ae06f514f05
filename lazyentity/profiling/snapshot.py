"""The counts of a profile at one moment, and the difference of two."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.counters import ProfileData, SentinelKey, WholeKey
from lazyentity.profiling.counts import Counts, Line, Named

_Key = TypeVar("_Key")

CallSiteKey = tuple[CallSite, str | None]
"""The site and the kind."""


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
    call_sites: Mapping[CallSiteKey, Counts] = field(default_factory=dict)
    wholes: Mapping[WholeKey, Line] = field(default_factory=dict)
    sentinels: Mapping[SentinelKey, Line] = field(default_factory=dict)

    @classmethod
    def of(cls, data: ProfileData) -> Snapshot:
        """Return the counts now."""
        # Copies: other threads add to the data. While a list of items is made, CPython before 3.12
        # may collect garbage, and so run other threads.
        return cls(
            time.monotonic(),
            {key: call_site.counts() for key, call_site in data.call_sites.copy().items()},
            {key: line.copy() for key, line in data.wholes.copy().items()},
            {key: line.copy() for key, line in data.sentinels.copy().items()},
        )

    def since(self, earlier: Snapshot) -> Snapshot:
        """Return what was counted after an earlier moment.

        All entities that are still in memory count, whenever they arrived.
        """
        call_sites = {
            key: _counts_since(counts, earlier.call_sites.get(key, Counts()))
            for key, counts in self.call_sites.items()
        }
        return Snapshot(
            self.seconds - earlier.seconds,
            {key: counts for key, counts in call_sites.items() if _is_any(counts)},
            _lines_since(self.wholes, earlier.wholes),
            _lines_since(self.sentinels, earlier.sentinels),
        )


def _is_any(counts: Counts) -> bool:
    return bool(counts.entities or counts.eager or counts.alive or counts.names)


def _counts_since(counts: Counts, earlier: Counts) -> Counts:
    names = {}
    for name, named in counts.names.items():
        before = earlier.names.get(name, Named())
        later = Named(
            named.received - before.received, named.read - before.read, named.whole - before.whole
        )
        if later != Named():
            names[name] = later
    return Counts(
        entities=counts.entities - earlier.entities,
        size=counts.size - earlier.size,
        eager=counts.eager - earlier.eager,
        eager_size=counts.eager_size - earlier.eager_size,
        alive=counts.alive,
        alive_size=counts.alive_size,
        byte_seconds=counts.byte_seconds - earlier.byte_seconds,
        longest=counts.longest,
        has_no_options=counts.has_no_options,
        obstacle=counts.obstacle,
        are_of_queries=counts.are_of_queries,
        uses=counts.uses,
        names=names,
    )


def _lines_since(lines: Mapping[_Key, Line], earlier: Mapping[_Key, Line]) -> dict[_Key, Line]:
    later = {}
    for key, line in lines.items():
        before = earlier.get(key, Line())
        if line.calls > before.calls:
            later[key] = dataclasses.replace(
                line,
                calls=line.calls - before.calls,
                properties=line.properties - before.properties,
                validated=line.validated - before.validated,
            )
    return later
