"""The sentence on the first screen that says how much lazyentity gains."""

from __future__ import annotations

from lazyentity.bench.measure.results import Results
from lazyentity.bench.report.readme import prose


class NothingMeasured(Exception):
    """The run has no query of the size that the sentence is about."""


_CALL, _ENTITIES, _PROPERTIES, _READ = "query", 300, 100, "1"


def render(results: Results) -> str:
    """The sentence about a query of which one property is read.

    Raises:
        NothingMeasured: the run has no such query.
    """
    for line in results.end_to_end:
        size = line.call, line.entities, line.properties, line.read, line.changed
        if size == (_CALL, _ENTITIES, _PROPERTIES, _READ, 0):
            return prose(
                f"A query of {line.entities} entities of {line.properties} properties, one of them "
                f"read, takes {line.lazy.median:.1f} ms instead of {line.stock.median:.1f} ms with "
                f"the {results.environment.backend} backend, measured end to end over gRPC to a "
                "server on the same machine."
            )
    raise NothingMeasured(
        f"there is no {_CALL} of {_ENTITIES} entities of {_PROPERTIES} properties in this run; "
        "measure without --ndb, --appengine and --kind"
    )
