"""The decode benchmark: bytes in, entities out, then reads; full against lazy.

Beside it are the floor of the largest document, the growth of the cost with a response, and the
cost of plain dicts.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from google.cloud.datastore import Entity

import lazyentity
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.cases.decoding import Case
from lazyentity.bench.cases.synthetic import EAGER, MATERIALIZED
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import (
    Access,
    Conversion,
    DocumentFloor,
    Growing,
    PlainValues,
    Scaling,
    ScalingPoint,
)
from lazyentity.bench.harness.stats import Summary, paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import (
    MICROSECONDS,
    MILLISECONDS,
    NANOSECONDS,
    SIDES,
    Budget,
    Clock,
    Comparison,
    Task,
    Timed,
    figures,
    interleave,
)

SIZES = (100, 1_000, 10_000)

_GROWING_MIX, _GROWING_READ = "mixed", "4"
_PROPERTIES_OF_MANY = 10

PLAIN_COUNTS = (5, 100)
"""Numbers of properties of mixed entities that become plain dicts."""


def read_task(side: sides.Side, case: Case) -> Task:
    """Decode the responses of ``case`` and read its properties; returns the entities."""
    responses, reader, entities_of = case.responses, case.reader, side.entities

    def decode_and_read() -> list[Entity]:
        entities = [entity for response in responses for entity in entities_of(response)]
        reader(entities)
        return entities

    return decode_and_read


def upb_task(raw_entities: list[bytes]) -> Task:
    """Parse the same entities with protobuf, and nothing else."""
    parse = decoding.EntityMessage.FromString

    def parse_all() -> None:
        for raw in raw_entities:
            parse(raw)

    return parse_all


def _lazy_side(case: Case) -> sides.Side:
    stock_entities = {EAGER: sides.EAGER, MATERIALIZED: sides.MATERIALIZED}
    return stock_entities.get(case.read, sides.LAZY)


def comparison(case: Case) -> Comparison:
    """The ways of ``case``: stock, lazy and upb_parse. Only the properties read are compared."""
    raw_entities = [raw for response in case.responses for raw in decoding.entities_of(response)]
    tasks = {
        "stock": read_task(sides.STOCK, case),
        "lazy": read_task(_lazy_side(case), case),
        "upb_parse": upb_task(raw_entities),
    }
    return Comparison(tasks, functools.partial(verify.check_read, case.reader))


def check_outputs(case: Case) -> None:
    """Decode ``case`` on both sides and compare all properties, read or not."""
    for response in case.responses:
        stock, lazy = sides.STOCK.entities(response), _lazy_side(case).entities(response)
        verify.check_same(stock, lazy, "entities")


def measure(case: Case, budget: Budget, clock: Clock | None = None) -> Conversion:
    """Time ``case``, outputs compared before and on the objects of the last timed round.

    ``clock`` is that of `interleave`.
    """
    check_outputs(case)
    return line_of(comparison(case).timed(budget, clock), case.mix, case)


def line(timed: Mapping[str, Timed], entities: int, **case: Any) -> Conversion:
    """The line of the timed tasks stock, lazy and upb_parse of so many entities."""
    ratios = {"ratio": SIDES, "over_upb_parse": ("lazy", "upb_parse")}
    compared: dict[str, Any] = figures(timed, MICROSECONDS / entities, **ratios)
    return Conversion(entities=entities, **case, **compared)


def line_of(timed: Mapping[str, Timed], mix: str, case: Case) -> Conversion:
    """The line of ``case``, under the name ``mix``."""
    shape = {"properties": case.properties, "read": case.read, "wire_bytes": case.wire_bytes}
    return line(timed, case.entities, mix=mix, **shape)


def json_task(case: Case, raw: bytes) -> Task:
    """Parse the document ``raw`` from JSON and read it like the entities of ``case``.

    msgspec, a parser in C that knows nothing of entities, makes plain dicts: objects have to be
    made, and no decoder of entities can avoid that.
    """
    parse, reader = msgspec.json.Decoder().decode, case.reader

    def parse_and_read() -> object:
        objects = parse(raw)
        reader(objects)
        return objects

    return parse_and_read


def measure_floor(budget: Budget) -> DocumentFloor:
    """Time reading the document in rounds of all the ways, by one and the same loop."""
    case = decoding.document_case()
    entities = read_task(sides.LAZY, case)()
    timed = interleave(
        {
            "stock": read_task(sides.STOCK, case),
            "lazy": read_task(sides.LAZY, case),
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


def _growing_case(growing: Growing, size: int) -> Case:
    """One response that holds an entity of ``size`` properties, or ``size`` small entities."""
    if growing == "properties":
        return decoding.case(_GROWING_MIX, size, _GROWING_READ, entities=1)
    return decoding.case(
        _GROWING_MIX, _PROPERTIES_OF_MANY, _GROWING_READ, entities=size, entities_a_response=size
    )


def measure_scaling(
    growing: Growing, sizes: Sequence[int], with_stock: bool, budget: Budget
) -> Scaling:
    """Time the conversion of a response of each of ``sizes``, ascending, four properties read.

    All sizes take turns within ``budget``, so that `ScalingPoint.growth` compares neighbours in
    time. Outputs are always compared with stock's. Stock is timed only ``with_stock``, because a
    stock call takes about a third of a second at 10,000 entities.
    """
    of_size = {size: _growing_case(growing, size) for size in sizes}
    for case in of_size.values():
        check_outputs(case)
    timed_sides = {"lazy": sides.LAZY, "stock": sides.STOCK} if with_stock else {"lazy": sides.LAZY}
    timed = interleave(
        {
            f"{name} {size}": read_task(side, case)
            for size, case in of_size.items()
            for name, side in timed_sides.items()
        },
        budget,
    )
    points: list[ScalingPoint] = []
    smaller: list[float] | None = None
    for size, case in of_size.items():
        of_case = {name: timed[f"{name} {size}"] for name in timed_sides}
        stock = of_case["stock"].last if with_stock else read_task(sides.STOCK, case)()
        verify.check_read(case.reader, stock, of_case["lazy"].last)
        per_unit = {
            name: scaled(track.seconds, MICROSECONDS / size) for name, track in of_case.items()
        }
        points.append(
            ScalingPoint(
                entities=case.entities,
                properties=case.properties,
                wire_bytes=sum(map(len, case.responses)),
                lazy=summarize(per_unit["lazy"]),
                stock=summarize(per_unit["stock"]) if with_stock else None,
                growth=None if smaller is None else paired_ratio(per_unit["lazy"], smaller),
            )
        )
        smaller = per_unit["lazy"]
    return Scaling(growing=growing, read=_GROWING_READ, points=points)


def measure_plain_values(count: int, budget: Budget) -> PlainValues:
    """Time both ways on entities of ``count`` properties, from their bytes."""
    (response,) = decoding.case("mixed", count, "all").responses
    raw_entities = decoding.entities_of(response)
    make, to_dict = lazyentity.LazyEntity.from_bytes, lazyentity.to_dict

    def decode() -> None:
        for raw in raw_entities:
            make(raw).values()

    def to_dicts() -> list[dict[str, Any]]:
        return [to_dict(make(raw)) for raw in raw_entities]

    timed = interleave({"decode": decode, "to_dict": to_dicts}, budget)
    for stock, made in zip(sides.STOCK.entities(response), timed["to_dict"].last, strict=True):
        verify.check_same(sorted(stock), sorted(made), "names")
        for name, value in made.items():
            verify.check_same(stock[name], value, name)
    per_entity = figures(timed, MICROSECONDS / len(raw_entities), ratio=("to_dict", "decode"))
    return PlainValues(properties=count, **per_entity)


_IMPORT = """
import gc, time
import google.cloud.datastore
gc.collect()
start = time.perf_counter()
import lazyentity.auto
print(time.perf_counter() - start)
"""

_SUBSCRIPTS = 100
_LOOPS = 500


def import_ms(rounds: int) -> Summary:
    """Milliseconds that ``import lazyentity.auto`` takes after google.cloud.datastore's own import.

    Each round is a fresh interpreter. It collects garbage first: the client's import leaves so
    many new objects that a full collection is due soon, and would come by chance within these
    milliseconds or after them. One more interpreter before writes the bytecode caches, as
    installing a package does, even where the environment says not to.
    """
    command = [sys.executable, "-c", _IMPORT]
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    with tempfile.TemporaryDirectory() as caches:
        environment["PYTHONPYCACHEPREFIX"] = caches
        took = [
            float(
                subprocess.run(
                    command, check=True, stdout=subprocess.PIPE, text=True, env=environment
                ).stdout
            )
            for _ in range(rounds + 1)
        ]
    return summarize(scaled(took[1:], 1e3))


def access(budget: Budget) -> Access:
    """Time ``entity["name"]`` of a decoded property against the same subscript of a plain dict.

    One statement has many subscripts, so that the loop around them does not count.
    """
    case = decoding.case("mixed", 20, "1")
    entity = sides.LAZY.entities(case.responses[0])[0]
    (name,) = synthetic.names_read(synthetic.MIXES["mixed"], 20, "1")
    plain = dict(entity)
    statement = "; ".join([f"subject[{name!r}]"] * _SUBSCRIPTS)
    timed = interleave(
        {
            kind: functools.partial(
                timeit.Timer(statement, globals={"subject": subject}).timeit, _LOOPS
            )
            for kind, subject in (("entity", entity), ("plain_dict", plain))
        },
        budget,
    )
    per_subscript = NANOSECONDS / (_SUBSCRIPTS * _LOOPS)
    return Access(**figures(timed, per_subscript, ratio=("entity", "plain_dict")))
