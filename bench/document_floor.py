"""What is below the time of reading the document, whoever decodes it.

The loop that reads it takes its time from objects that are all there, too. And whatever is decoded
has to be made: for comparison, the same document is parsed as JSON into plain dicts by msgspec, a
parser in C that knows nothing of entities, and read and released by the same loop.
"""

from __future__ import annotations

import msgspec

from lazyentity.bench import cases, conversion, sides, verify
from lazyentity.bench.results import DocumentFloor
from lazyentity.bench.stats import paired_ratio, scaled, summarize
from lazyentity.bench.timing import Budget, Task, interleave

_MILLISECONDS = 1e3


def _json_task(case: cases.Case, raw: bytes) -> Task:
    parse, reader = msgspec.json.Decoder().decode, case.reader

    def parse_and_read() -> object:
        objects = parse(raw)
        reader(objects)
        return objects

    return parse_and_read


def measure(budget: Budget) -> DocumentFloor:
    """Time reading the document in rounds of all the ways.

    Raises:
        verify.OutputMismatch: what is read from JSON or from lazy entities is not what is read from
            stock ones.
    """
    case = cases.document_case()
    entities = conversion.read_task(sides.LAZY, case)()
    timed = interleave(
        {
            "stock": conversion.read_task(sides.STOCK, case),
            "lazy": conversion.read_task(sides.LAZY, case),
            "json": _json_task(case, msgspec.json.encode([cases.document_entity()])),
            "loop": lambda: case.reader(entities),
        },
        budget,
    )
    verify.check_read(case.reader, timed["stock"].last, timed["lazy"].last)
    if timed["json"].last != timed["stock"].last:
        raise verify.OutputMismatch("the document: what was read from JSON is not what stock gives")
    seconds = {name: track.seconds for name, track in timed.items()}
    milliseconds = {
        name: summarize(scaled(samples, _MILLISECONDS)) for name, samples in seconds.items()
    }
    return DocumentFloor(
        **milliseconds,
        ratio=paired_ratio(seconds["stock"], seconds["lazy"]),
        json_ratio=paired_ratio(seconds["stock"], seconds["json"]),
    )
