"""The chart of calls through the client: wall time of each call, stock above lazy."""

from __future__ import annotations

from lazyentity.bench.harness.results import Results
from lazyentity.bench.report.chart import document, rows, titled


def svg(results: Results) -> str:
    """The chart of the calls of a run as the text of an SVG file, the same for the same results.

    A bar is the median wall time of a call. The x axis starts at zero.

    Raises:
        ValueError: no calls were measured.
    """
    lines = results.end_to_end
    if not lines:
        raise ValueError("there are no calls in this run; measure without --kind")
    elements, top = titled(
        "Wall time of a call, stock above lazy",
        f"entities x properties, {results.environment.backend} backend,",
        "over gRPC to a server on the same machine",
    )
    labelled = (
        (f"{line.call}, {line.entities:,} x {line.properties:,}, {line.done}", line)
        for line in lines
    )
    drawn, end = rows(labelled, top, "ms")
    return document(end, [*elements, *drawn])
