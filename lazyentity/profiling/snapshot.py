"""The counts of a profile at one moment, and the difference of two."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from lazyentity.profiling.callsites import CallSite
from lazyentity.profiling.counters import LineKey, ProfileData
from lazyentity.profiling.counts import Counts, Line


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
            time.monotonic(),
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
