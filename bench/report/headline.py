"""The sentence on the first screen that says how much lazyentity gains."""

from __future__ import annotations

from lazyentity.bench.harness.lines import EndToEnd
from lazyentity.bench.harness.results import Results
from lazyentity.bench.report.readme import prose
from lazyentity.bench.subjects import end_to_end


class NothingMeasured(Exception):
    """The run has no query of the size that the sentence is about."""


_CALL, _ENTITIES, _PROPERTIES, _READ = "query", 300, 100, "1"
_ARTICLES = {_CALL: "A", end_to_end.ASYNCIO_QUERY: "An"}


def query(results: Results, call: str = _CALL) -> EndToEnd | None:
    """The query that the sentence is about, if it was measured: one property is read of each."""
    for line in results.end_to_end:
        size = line.call, line.entities, line.properties, line.read, line.changed
        if size == (call, _ENTITIES, _PROPERTIES, _READ, 0):
            return line
    return None


def label(line: EndToEnd) -> str:
    """The query in a chart."""
    return f"{line.call}, {line.entities} x {line.properties} properties, {line.done}"


def render(results: Results, call: str = _CALL) -> str:
    """The sentence about a query of which one property is read.

    Args:
        results: of a run.
        call: the name of the query in the results.

    Raises:
        NothingMeasured: the run has no such query.
    """
    line = query(results, call)
    if line is None:
        raise NothingMeasured(
            f"there is no {call} of {_ENTITIES} entities of {_PROPERTIES} properties in this run; "
            "measure without --ndb, --appengine and --kind"
        )
    return prose(
        f"{_ARTICLES[call]} {call} of {line.entities} entities of {line.properties} properties, "
        f"one of them read, takes {line.lazy.median:.1f} ms instead of {line.stock.median:.1f} ms "
        f"with the {results.environment.backend} backend, measured end to end over gRPC to a "
        "server on the same machine."
    )


def of_import(results: Results) -> str:
    """The sentence about the time that the import takes.

    Raises:
        NothingMeasured: the run has no such time.
    """
    if results.import_ms is None:
        raise NothingMeasured("the import was not measured in this run")
    return prose(
        f"``import lazyentity.auto`` adds {results.import_ms.median:.0f} ms to the start of a "
        f"process, once, with the {results.environment.backend} backend."
    )
