"""The floor of reading the document: the costs that no decoder of entities can avoid.

- The loop that reads it takes its time from decoded objects, too.
- The objects have to be made. For comparison msgspec, a parser in C that knows nothing of entities,
  parses the same document from JSON into plain dicts, and the same loop reads and releases them.
"""

from __future__ import annotations

import msgspec

from lazyentity.bench.cases import decoding
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import DocumentFloor
from lazyentity.bench.harness.timing import MILLISECONDS, SIDES, Budget, Task, figures, interleave
from lazyentity.bench.subjects import conversion


def json_task(case: decoding.Case, raw: bytes) -> Task:
    """Parse the document ``raw`` from JSON and read it like the entities of ``case``."""
    parse, reader = msgspec.json.Decoder().decode, case.reader

    def parse_and_read() -> object:
        objects = parse(raw)
        reader(objects)
        return objects

    return parse_and_read


def measure(budget: Budget) -> DocumentFloor:
    """Time reading the document in rounds of all the ways."""
    case = decoding.document_case()
    entities = conversion.read_task(sides.LAZY, case)()
    timed = interleave(
        {
            "stock": conversion.read_task(sides.STOCK, case),
            "lazy": conversion.read_task(sides.LAZY, case),
            "json": json_task(case, msgspec.json.encode([decoding.document_entity()])),
            "loop": lambda: case.reader(entities),
        },
        budget,
    )
    verify.check_read(case.reader, timed["stock"].last, timed["lazy"].last)
    if timed["json"].last != timed["stock"].last:
        raise verify.OutputMismatch("the document: JSON gave other values than stock entities")
    compared = {"json_ratio": ("stock", "json"), "over_json": ("lazy", "json")}
    return DocumentFloor(**figures(timed, MILLISECONDS, ratio=SIDES, **compared))
