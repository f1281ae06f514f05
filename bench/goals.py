"""What the benchmark must reach, as data, and the comparison of a run with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lazyentity.bench import cases, document
from lazyentity.bench.results import UNITS, Growing, Results
from lazyentity.bench.stats import Summary

Measured = Callable[[Results], "Summary | None"]


def _conversion(mix: str, properties: int, read: str, statistic: str = "ratio") -> Measured:
    def find(results: Results) -> Summary | None:
        for line in results.conversion:
            if (line.mix, line.properties, line.read) == (mix, properties, read):
                found: Summary = getattr(line, statistic)
                return found
        return None

    return find


def _rewrite(properties: int, changed: str) -> Measured:
    def find(results: Results) -> Summary | None:
        for line in results.read_modify_write:
            if (line.properties, line.changed) == (properties, changed):
                return line.ratio
        return None

    return find


def _put(mix: str, properties: int) -> Measured:
    def find(results: Results) -> Summary | None:
        for line in results.puts:
            if (line.mix, line.properties) == (mix, properties):
                return line.ratio
        return None

    return find


def _end_to_end(
    call: str, entities: int, properties: int, done: str, statistic: str = "ratio"
) -> Measured:
    def find(results: Results) -> Summary | None:
        for line in results.end_to_end:
            if (line.call, line.entities, line.properties, line.done) == (
                call,
                entities,
                properties,
                done,
            ):
                found: Summary | None = getattr(line, statistic)
                return found
        return None

    return find


def _memory(properties: int) -> Measured:
    def find(results: Results) -> Summary | None:
        return next((line.ratio for line in results.memory if line.properties == properties), None)

    return find


def _growth(growing: Growing, size: int) -> Measured:
    def find(results: Results) -> Summary | None:
        for line in results.scaling:
            for point in line.points:
                if line.growing == growing and getattr(point, growing) == size:
                    return point.growth
        return None

    return find


def _import_ms(results: Results) -> Summary | None:
    return results.import_ms


def _access(results: Results) -> Summary | None:
    return None if results.access is None else results.access.ratio


@dataclass(frozen=True)
class Goal:
    """A bound on the median of one figure, for one backend."""

    backend: str
    figure: str
    measured: Measured
    bound: float
    at_least: bool


def _faster(backend: str, mix: str, read: str, bounds: dict[int, float]) -> list[Goal]:
    return [
        Goal(
            backend,
            f"{mix}, {properties} properties, {read} read: stock time / lazy time",
            _conversion(mix, properties, read),
            bound,
            at_least=True,
        )
        for properties, bound in bounds.items()
    ]


def _put_faster(backend: str, mix: str, properties: int, bound: float) -> Goal:
    return Goal(
        backend,
        f"put, {mix}, {properties} properties: stock time / lazy time",
        _put(mix, properties),
        bound,
        at_least=True,
    )


def _call_faster(
    backend: str, call: str, entities: int, properties: int, done: str, bound: float
) -> Goal:
    return Goal(
        backend,
        f"{call} of {entities} entities of {properties} properties, {done}: stock wall / lazy wall",
        _end_to_end(call, entities, properties, done),
        bound,
        at_least=True,
    )


_HELD = "memory held, 100 properties, 4 read: lazy / stock"

# Linear growth is 1, quadratic growth would be 10. Caches lie between: 1,000 fit into those next to
# the processor and 10,000 do not, for which each may cost as much again, and no more.
_GROWTH = 2

GOALS: tuple[Goal, ...] = (
    *_faster("pure", "mixed", "4", {20: 4, 100: 8, 500: 12}),
    *_faster("pure", "mixed", "all", {20: 0.9, 100: 0.9, 500: 0.9}),
    *_faster("pure", "mixed", "items", {20: 0.9, 100: 0.9, 500: 0.9}),
    _call_faster("pure", "query", 300, 100, "1 read", 6),
    _put_faster("pure", "mixed", 100, 2),
    Goal("pure", _HELD, _memory(100), 0.6, at_least=False),
    Goal("pure", "import lazyentity.auto, ms", _import_ms, 30, at_least=False),
    *_faster("native", "mixed", "4", {5: 10, 20: 20, 100: 50, 500: 100}),
    *_faster("native", "strings", "4", {100: 35}),
    *_faster("native", "mixed", "all", {20: 5, 100: 5}),
    *_faster("native", "mixed", "items", {20: 5, 100: 5}),
    *_faster("native", "mixed", "eager", {100: 4}),
    *_faster("native", "embedded", "leaf", {200: 50}),
    *_faster("native", cases.DOCUMENT, "all", {document.VALUES: 10}),
    Goal(
        "native",
        "mixed, 100 properties, 1 read, 1 changed, written: stock time / lazy time",
        _rewrite(100, "1"),
        40,
        at_least=True,
    ),
    _put_faster("native", "mixed", 100, 8),
    _put_faster("native", cases.DOCUMENT, document.VALUES, 10),
    Goal(
        "native",
        "mixed, 100 properties, 4 read: lazy time / upb's parse alone",
        _conversion("mixed", 100, "4", "over_upb_parse"),
        1,
        at_least=False,
    ),
    _call_faster("native", "query", 300, 100, "1 read", 20),
    Goal(
        "native",
        "query of 300 entities of 100 properties, 1 read: lazy wall / undecoded bytes",
        _end_to_end("query", 300, 100, "1 read", "over_floor"),
        1.6,
        at_least=False,
    ),
    _call_faster("native", "get_multi", 1000, 10, "1 read", 8),
    _call_faster("native", "get_multi", 1000, 100, "1 read", 20),
    _call_faster("native", "get_multi, put_multi", 300, 100, "1 changed", 8),
    Goal("native", _HELD, _memory(100), 0.5, at_least=False),
    *(
        Goal(
            "native",
            f"time per {unit}, mixed, 4 read: 10,000 {growing} / 1,000 {growing}",
            _growth(growing, 10_000),
            _GROWTH,
            at_least=False,
        )
        for growing, unit in UNITS.items()
    ),
    Goal("native", "import lazyentity.auto, ms", _import_ms, 30, at_least=False),
    Goal("native", 'decoded entity["name"] / plain dict', _access, 1.5, at_least=False),
)

NDB_GOALS: tuple[Goal, ...] = (
    *_faster("native", "Model", "4", {100: 40}),
    *_faster("native", "Model", "all", {100: 2}),
    _call_faster("native", "ndb fetch", 300, 100, "1 read", 12),
    _call_faster("native", "ndb get_multi", 300, 100, "1 read", 10),
)


@dataclass(frozen=True)
class Outcome:
    """A goal and the median that a run reached; ``None`` where the run did not measure it."""

    goal: Goal
    median: float | None

    @property
    def met(self) -> bool:
        """Whether the bound holds. What was not measured was not reached."""
        if self.median is None:
            return False
        if self.goal.at_least:
            return self.median >= self.goal.bound
        return self.median <= self.goal.bound

    def __str__(self) -> str:
        reached = "not measured" if self.median is None else f"{self.median:.2f}"
        relation = "at least" if self.goal.at_least else "at most"
        return f"{self.goal.figure}: {reached}, must be {relation} {self.goal.bound:g}"


def evaluate(results: Results, goals: Sequence[Goal] = GOALS) -> list[Outcome]:
    """Compare a run with those of the goals that are of its backend, in their order."""
    return [
        Outcome(goal, None if (summary := goal.measured(results)) is None else summary.median)
        for goal in goals
        if goal.backend == results.environment.backend
    ]
