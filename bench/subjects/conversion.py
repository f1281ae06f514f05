"""The decode benchmark: bytes in, entities out, then reads; full against lazy."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Protocol

from google.cloud.datastore import Entity

from lazyentity.bench.cases import wire
from lazyentity.bench.cases.decoding import Case
from lazyentity.bench.cases.synthetic import EAGER, MATERIALIZED
from lazyentity.bench.harness import sides, verify
from lazyentity.bench.harness.lines import Conversion
from lazyentity.bench.harness.timing import (
    MICROSECONDS,
    SIDES,
    Budget,
    Clock,
    Comparison,
    Task,
    Timed,
    figures,
)


class Measured(Protocol):
    """The description of a case that its line repeats."""

    @property
    def properties(self) -> int:
        """Of each entity."""

    @property
    def read(self) -> str:
        """How much is read."""

    @property
    def entities(self) -> int:
        """How many there are."""

    @property
    def wire_bytes(self) -> int:
        """The mean size of one."""


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
    parse = wire.EntityMessage.FromString

    def parse_all() -> None:
        for raw in raw_entities:
            parse(raw)

    return parse_all


def _lazy_side(case: Case) -> sides.Side:
    stock_entities = {EAGER: sides.EAGER, MATERIALIZED: sides.MATERIALIZED}
    return stock_entities.get(case.read, sides.LAZY)


def comparison(case: Case) -> Comparison:
    """The ways of ``case``: stock, lazy and upb_parse. Only the properties read are compared."""
    raw_entities = [raw for response in case.responses for raw in wire.entities_of(response)]
    tasks = {
        "stock": read_task(sides.STOCK, case),
        "lazy": read_task(_lazy_side(case), case),
        "upb_parse": upb_task(raw_entities),
    }
    return Comparison(tasks, functools.partial(verify.check_read, case.reader))


def check_outputs(case: Case) -> None:
    """Decode ``case`` on both sides and compare all properties, read or not."""
    for response in case.responses:
        verify.check_entities(sides.STOCK.entities(response), _lazy_side(case).entities(response))


def measure(case: Case, budget: Budget, clock: Clock | None = None) -> Conversion:
    """Time ``case``, outputs compared before and on the objects of the last timed round.

    ``clock`` is that of `interleave`.
    """
    check_outputs(case)
    return result(case.mix, case, comparison(case).timed(budget, clock))


def result(mix: str, case: Measured, timed: Mapping[str, Timed]) -> Conversion:
    """The line of the timed tasks stock, lazy and upb_parse of ``case``, under the name ``mix``."""
    return Conversion(
        mix=mix,
        properties=case.properties,
        read=case.read,
        entities=case.entities,
        wire_bytes=case.wire_bytes,
        **figures(
            timed, MICROSECONDS / case.entities, ratio=SIDES, over_upb_parse=("lazy", "upb_parse")
        ),
    )
