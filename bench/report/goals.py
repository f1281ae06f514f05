"""The goals of the benchmark, as data, and the comparison of a run with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness.lines import DICTS, ORJSON, RESPONSE_MODEL, UNITS, VALIDATE
from lazyentity.bench.harness.outcomes import Outcome
from lazyentity.bench.harness.results import Results
from lazyentity.bench.harness.stats import Summary
from lazyentity.bench.subjects import conversion, end_to_end, memory

Measured = Callable[[Results], "Summary | None"]


def figure_of(section: str, statistic: str = "ratio", **line: object) -> Measured:
    """A look-up of a figure in results.

    Args:
        section: the attribute of `Results`: a list of lines, one line, or one summary.
        statistic: the attribute of the line that is the summary.
        line: the attributes of the line and their values.
    """

    def find(results: Results) -> Summary | None:
        held = getattr(results, section)
        if held is None or isinstance(held, Summary):
            return held
        for one in held if isinstance(held, list) else [held]:
            if all(getattr(one, name) == value for name, value in line.items()):
                found: Summary | None = getattr(one, statistic)
                return found
        return None

    return find


@dataclass(frozen=True)
class Goal:
    """A bound on the median of a figure, for one backend."""

    backend: str
    figure: str
    measured: Measured
    bound: float
    at_least: bool

    def outcome(self, results: Results) -> Outcome:
        """Compare a run with the goal."""
        summary = self.measured(results)
        median = None if summary is None else summary.median
        return Outcome(self.figure, median, self.bound, self.at_least)


def _at_least(backend: str, figure: str, bound: float, measured: Measured) -> Goal:
    return Goal(backend, figure, measured, bound, at_least=True)


def _at_most(backend: str, figure: str, bound: float, measured: Measured) -> Goal:
    return Goal(backend, figure, measured, bound, at_least=False)


def _faster(backend: str, mix: str, read: str, bounds: dict[int, float]) -> list[Goal]:
    return [
        _at_least(
            backend,
            f"{mix}, {properties} properties, {read} read: stock time / lazy time",
            bound,
            figure_of("conversion", mix=mix, properties=properties, read=read),
        )
        for properties, bound in bounds.items()
    ]


def _put_faster(backend: str, mix: str, properties: int, bound: float) -> Goal:
    figure = f"put, {mix}, {properties} properties: stock time / lazy time"
    return _at_least(backend, figure, bound, figure_of("puts", mix=mix, properties=properties))


def _call_faster(
    backend: str, call: str, entities: int, properties: int, done: str, bound: float
) -> Goal:
    return _at_least(
        backend,
        f"{call} of {entities} entities of {properties} properties, {done}: stock wall / lazy wall",
        bound,
        figure_of("end_to_end", call=call, entities=entities, properties=properties, done=done),
    )


def _names_that_come_once(backend: str, of: str) -> Iterator[Goal]:
    for names in memory.NAME_COUNTS:
        case = f"{of} of {names} names that come once, all read"
        time = figure_of("new_names", of=of, names=names)
        yield _at_least(backend, f"{case}: stock time / lazy time", 1 / 1.3, time)
        held = figure_of("new_names", "memory_ratio", of=of, names=names)
        yield _at_most(backend, f"{case}: memory of the process, lazy / stock", 1.2, held)


_HELD = "memory held, 100 properties, 4 read: lazy / stock"
_held = figure_of("memory", properties=100)
_IMPORT = "import lazyentity.auto, ms"
_import = figure_of("import_ms")

# Linear growth is 1, quadratic growth would be 10. Caches lie between: 1,000 fit into those next to
# the processor and 10,000 do not, so each of 10,000 may cost twice as much, and no more.
_GROWTH = 2

GOALS: tuple[Goal, ...] = (
    *_faster("pure", "mixed", "4", {20: 4, 100: 8, 500: 12}),
    *_faster("pure", "mixed", "all", {20: 0.9, 100: 0.9, 500: 0.9}),
    *_faster("pure", "mixed", "items", {20: 0.9, 100: 0.9, 500: 0.9}),
    _call_faster("pure", "query", 300, 100, "1 read", 6),
    _put_faster("pure", "mixed", 100, 2),
    _at_most("pure", _HELD, 0.6, _held),
    *_names_that_come_once("pure", memory.OF_ENTITIES),
    _at_most("pure", _IMPORT, 30, _import),
    *_faster("native", "mixed", "4", {5: 10, 20: 20, 100: 50, 500: 100}),
    *_faster("native", "strings", "4", {100: 35}),
    *_faster("native", "mixed", "all", {20: 5, 100: 5}),
    *_faster("native", "mixed", "items", {20: 5, 100: 5}),
    *_faster("native", "mixed", synthetic.EAGER, {5: 4, 100: 8}),
    *_faster("native", "mixed", synthetic.MATERIALIZED, {5: 4, 100: 8}),
    *_faster("native", "embedded", "leaf", {200: 50}),
    _at_most(
        "native",
        "document, all read: lazy time / msgspec's parse of it as JSON and the same loop",
        1.25,
        figure_of("document_floor", "over_json"),
    ),
    _at_least(
        "native",
        "mixed, 100 properties, 1 read, 1 changed, written: stock time / lazy time",
        40,
        figure_of("read_modify_write", properties=100, changed="1"),
    ),
    _put_faster("native", "mixed", 100, 8),
    _put_faster("native", decoding.DOCUMENT, decoding.DOCUMENT_VALUES, 10),
    _at_most(
        "native",
        "mixed, 100 properties, 4 read: lazy time / upb's parse alone",
        1,
        figure_of("conversion", "over_upb_parse", mix="mixed", properties=100, read="4"),
    ),
    _call_faster("native", "query", 300, 100, "1 read", 20),
    _at_most(
        "native",
        "query of 300 entities of 100 properties, 1 read: lazy wall / undecoded bytes",
        1.6,
        figure_of(
            "end_to_end", "over_floor", call="query", entities=300, properties=100, done="1 read"
        ),
    ),
    _call_faster("native", "get_multi", 1000, 10, "1 read", 8),
    _call_faster("native", "get_multi", 1000, 100, "1 read", 20),
    _call_faster("native", "get_multi, put_multi", 300, 100, "1 changed", 8),
    _call_faster("native", end_to_end.EAGER_QUERY, 300, 100, "1 read", 6),
    _call_faster("native", end_to_end.ASYNCIO_QUERY, 300, 100, "1 read", 12),
    *(
        _at_most(
            "native",
            f"to_dict, mixed, {properties} properties: time / time of decoding in place",
            1.3,
            figure_of("plain_values", properties=properties),
        )
        for properties in conversion.PLAIN_COUNTS
    ),
    _at_most("native", _HELD, 0.5, _held),
    *_names_that_come_once("native", memory.OF_ENTITIES),
    *(
        _at_most(
            "native",
            f"time per {unit}, mixed, 4 read: 10,000 {growing} / 1,000 {growing}",
            _GROWTH,
            figure_of("scaling", "growth", growing=growing, largest=10_000),
        )
        for growing, unit in UNITS.items()
    ),
    *(
        _at_most("native", f"{use}: {figure}", bound, figure_of("adapted", statistic, use=use))
        for use, statistic, figure, bound in (
            (RESPONSE_MODEL, "ratio", "lazy time / stock time", 0.3),
            (DICTS, "ratio", "lazy time / stock time", 0.5),
            (ORJSON, "ratio", "time with adapters / without", 1.01),
            (VALIDATE, "more", "us more with adapters", 0.3),
        )
    ),
    _at_most("native", _IMPORT, 30, _import),
    _at_most("native", 'decoded entity["name"] / plain dict', 1.5, figure_of("access")),
)

NDB_GOALS: tuple[Goal, ...] = (
    *_faster("native", "Model", "4", {100: 40}),
    *_faster("native", "Model", "all", {100: 2}),
    *_faster("native", "Model", synthetic.EAGER, {100: 2}),
    _call_faster("native", "ndb fetch", 300, 100, "1 read", 12),
    _call_faster("native", "ndb get_multi", 300, 100, "1 read", 10),
    _call_faster("native", "ndb fetch, structured", 200, 61, "1 read", 10),
    _call_faster("native", "ndb get_multi, structured", 200, 61, "1 read", 8),
    _call_faster("native", "ndb fetch, structured", 200, 61, "all read", 1),
    _call_faster("native", "ndb get_multi, structured", 200, 61, "all read", 1),
    *(
        goal
        for backend in ("native", "pure")
        for of in memory.OF_MODELS
        for goal in _names_that_come_once(backend, of)
    ),
)


APPENGINE_GOALS: tuple[Goal, ...] = (
    *_faster("native", "datastore.Get", "4", {100: 8}),
    *_faster("native", "Entity._FromPb", "4", {100: 15}),
    *_faster("native", "db.get", "4", {100: 4}),
    *_faster("native", "ndb query", "1", {100: 6}),
    *_faster("native", "ndb get_multi", "1", {100: 2.5}),
    *_faster("native", "ndb get_multi, memcache miss", "1", {100: 5}),
    *_faster("native", "ndb get_multi, put_multi", "1", {100: 5}),
    *_faster("native", "ndb _from_pb", "4", {100: 12}),
    *_faster("pure", "ndb query", "1", {100: 2.5}),
    *_faster("pure", "ndb query", "all", {100: 0.9}),
    *_faster("pure", "datastore.Get", "4", {100: 2.5}),
    *_faster("pure", "datastore.Get", "all", {100: 0.9}),
    *_faster("pure", "db.get", "all", {100: 0.9}),
)

PACKED_GOALS: tuple[Goal, ...] = tuple(
    _at_least(
        backend,
        f"a document of 500 KB, {use}: stock time / packed time",
        bound,
        figure_of("packed", use=use, size="500 KB"),
    )
    for backend, use, bound in (
        ("native", "write", 60),
        ("native", "read", 12),
        ("pure", "write", 40),
        ("pure", "read", 12),
    )
)

COLUMNS_GOALS: tuple[Goal, ...] = (
    *(
        _at_least(
            "native",
            f"6 of 60 properties of 200 entities: {figure}",
            bound,
            figure_of("columns", statistic, source="bytes of a response"),
        )
        for figure, statistic, bound in (
            ("DataFrame of stock entities / to_pandas", "ratio", 15),
            ("DataFrame of lazy entities / to_pandas", "over_lazy", 4),
        )
    ),
    *(
        _at_most(
            backend,
            "1,000,000 entities in batches: peak memory / that of 10,000",
            1.1,
            figure_of("columns_memory", entities=1_000_000),
        )
        for backend in ("native", "pure")
    ),
)


def evaluate(results: Results, goals: Sequence[Goal] = GOALS) -> list[Outcome]:
    """Compare a run with the goals of its backend, in their order."""
    return [goal.outcome(results) for goal in goals if goal.backend == results.environment.backend]


SHORT = 0.15
"""The goal of short calls while no property is undecoded: so many microseconds more."""

_SHORT_CALLS = frozenset(
    (
        ("immutables", "Map, one row"),
        ("lru", "update, one row"),
        ("mashumaro", "to_json of a dataclass, orjson"),
        ("orjson", "dumps, one row"),
        ("pycrdt", "an entry of a map, one row"),
        ("pydantic", "a model of one row"),
        ("pydantic", "from_attributes of an object with 14,000 rows"),
        ("pydantic", "model_dump"),
        ("pydantic", "validate_call of a method, 20,000 dicts in its object"),
        ("pydantic", "validate_python, 200 models"),
        ("pydantic", "validate_python, one row"),
        ("sqlmodel", "a model of one row"),
        ("xml.etree", "TreeBuilder.start"),
    )
)
"""Calls of less than 5 microseconds, of which the time itself is bounded."""

_WITH_ENTITIES = {"fastapi": 1.15, "pydantic": 1.15, "sqlmodel": 1.15}
_WITH_ENTITIES_OF_OTHERS = 1.3


def _bounds(library: str, use: str) -> dict[str, tuple[str, float]]:
    """How much a call may take at most, by the number of entities that are alive elsewhere.

    Each is the attribute of a line that is bounded, which has a ratio or microseconds, and a bound.
    """
    is_short = (library, use) in _SHORT_CALLS
    alone = ("more", SHORT) if is_short else ("none", 1.02 if "uvicorn" in use else 1.03)
    with_entities = _WITH_ENTITIES.get(library, _WITH_ENTITIES_OF_OTHERS)
    return {"none": alone, "1": ("one", with_entities), "10,000": ("many", with_entities)}


def goals_in_words(line: Any) -> str:
    """Return the goals of a line of the table."""
    (statistic, none), (_, others), _ = _bounds(line.library, line.use).values()
    return f"+{none:g} µs, {others:g}" if statistic == "more" else f"{none:g}, {others:g}"


def missed_in_words(line: Any) -> str:
    """Say which goals of a line of the table are missed; nothing, if all are met."""
    bounds = _bounds(line.library, line.use).items()
    missed = [
        alive for alive, (statistic, most) in bounds if getattr(line, statistic).median > most
    ]
    return ", ".join(missed) or "-"


_ADDED = {"more": "us more with adapters"}


def adapter_goals(uses: Iterable[tuple[str, str]]) -> tuple[Goal, ...]:
    """Return the goals of calls.

    Args:
        uses: the library and the name of each call.
    """
    return tuple(
        _at_most(
            "native",
            f"{library}, {use}, {alive} alive: {_ADDED.get(part, 'time with adapters / without')}",
            most,
            figure_of("adapter_costs", part, library=library, use=use),
        )
        for library, use in uses
        for alive, (part, most) in _bounds(library, use).items()
    )
