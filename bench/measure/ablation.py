"""The gain of each seam of a client: calls with all seams, and with all but one.

``python -m lazyentity.bench.measure.ablation --client ndb RESULTS.json`` measures and writes the
results; ``--table FILE.rst`` writes them as a table as well. ``--cpu`` measures the CPU time of the
client's process: on a machine that others use, wall time spreads too far.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
from tabulate import tabulate

from lazyentity.bench.harness import environment, sides, verify
from lazyentity.bench.harness.stats import Summary, paired_ratio, scaled, summarize
from lazyentity.bench.harness.timing import Budget, Clock, Context, Task, interleave
from lazyentity.patches.registry import Patch, Seam

COUNTS = (10, 100)
READ = "1"
ALL = "all seams"

Check = Callable[[Any, Any], None]
"""Compares the result of stock with that of the patched client."""


@dataclass(frozen=True)
class Subject:
    """A client whose seams are measured.

    Attributes:
        patches: applied to the client, beside that of google-cloud-datastore.
        seams: the seams of the client.
        entities: their number in each call.
        calls: the names of the calls.
        loaded: gives, while inside, the task of a call for a number of properties, and its check.
    """

    patches: Sequence[Patch]
    seams: Sequence[Seam]
    entities: int
    calls: Sequence[str]
    loaded: Callable[[str, int], AbstractContextManager[tuple[Task, Check]]]

    def without(self) -> dict[str, tuple[Seam, ...]]:
        """The seams to remove, by the name of a row: each alone, then all of one module."""
        alone: dict[str, tuple[Seam, ...]] = {}
        modules: dict[str, tuple[Seam, ...]] = {}
        for seam in self.seams:
            module = seam.module.rpartition(".")[2]
            alone[f"{module}.{seam.path}"] = (seam,)
            modules[f"{module}, all"] = (*modules.get(f"{module}, all", ()), seam)
        return {**alone, **{name: found for name, found in modules.items() if len(found) > 1}}


@dataclass(frozen=True)
class Line:
    """One call. ``gains`` is by row: the time without its seams over the time with all of them."""

    call: str
    properties: int
    milliseconds: Summary
    stock: Summary
    gains: dict[str, Summary]


@dataclass(frozen=True)
class Ablation:
    """All lines of a run, and the environment that it ran in."""

    machine: environment.Environment
    lines: list[Line]


def _checking(call: str) -> Check:
    return functools.partial(verify.check_same, where=call)


# A subject imports its client, which few environments have.


def _ndb() -> Subject:
    from lazyentity.bench.subjects import end_to_end_models
    from lazyentity.patches.ndb.seams import CLIENT

    entities = 300

    @contextlib.contextmanager
    def loaded(call: str, properties: int) -> Iterator[tuple[Task, Check]]:
        with end_to_end_models.loaded(call, entities, properties, READ) as found:
            yield found.tasks["lazy"], found.check

    # Reads by query, by key and from the global cache, and writing back the models read.
    calls = ("ndb fetch", "ndb get_multi", "ndb get_multi, cached", "ndb get_multi, put_multi")
    return Subject((CLIENT.patch,), CLIENT.patch.seams, entities, calls, loaded)


def _appengine() -> Subject:
    from lazyentity.bench.cases import appengine as cases
    from lazyentity.bench.subjects import appengine, appengine_ndb
    from lazyentity.patches.appengine.lasting import LastingSeam
    from lazyentity.patches.appengine.ndb.seams import PART
    from lazyentity.patches.appengine.seams import CLIENT

    reading = [call for call, reads in appengine_ndb.CALLS.items() if READ in reads]
    calls = {call.name: call for call in (*reading, appengine_ndb.OF_POLYMODELS)}

    @contextlib.contextmanager
    def loaded(call: str, properties: int) -> Iterator[tuple[Task, Check]]:
        case = appengine.AppCase(calls[call], cases.canned(properties, appengine.COUNT), READ)
        with appengine.tasks(case) as tasks:
            yield tasks["lazy"], functools.partial(appengine.check, case)

    patches = [part.patch for part in CLIENT.with_parts()]
    removable = [seam for seam in PART.patch.seams if not isinstance(seam, LastingSeam)]
    return Subject(patches, removable, appengine.COUNT, tuple(calls), loaded)


def _beam() -> Subject:
    from lazyentity.bench.measure import beam
    from lazyentity.patches.beam.seams import CLIENT

    @contextlib.contextmanager
    def loaded(call: str, properties: int) -> Iterator[tuple[Task, Check]]:
        with beam.serving(beam.ENTITIES, properties):
            yield beam.reading_task(call, properties), _checking(call)

    calls = (beam.READ, beam.CODED, beam.PIPELINE)
    return Subject((CLIENT.patch,), CLIENT.patch.seams, beam.ENTITIES, calls, loaded)


def _rest() -> Subject:
    from lazyentity.bench.measure import rest
    from lazyentity.patches.gcloud_aio.seams import CLIENT

    @contextlib.contextmanager
    def loaded(call: str, properties: int) -> Iterator[tuple[Task, Check]]:
        with rest.loaded(call, rest.ENTITIES, properties) as found:
            yield found.tasks["lazy"], found.check

    return Subject((CLIENT.patch,), CLIENT.patch.seams, rest.ENTITIES, (rest.QUERY,), loaded)


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "ndb": _ndb,
    "appengine": _appengine,
    "beam": _beam,
    "gcloud-aio": _rest,
}


@contextlib.contextmanager
def patched_without(patches: Sequence[Patch], removed: Sequence[Seam]) -> Iterator[None]:
    """Patch the client while inside, but for the removed seams."""
    with sides.patched(*patches):
        for seam in removed:
            seam.remove()
        yield


def measure(
    subject: Subject, call: str, properties: int, budget: Budget, clock: Clock | None = None
) -> Line:
    """Time one call with all seams, with none, and without those of each row in turn.

    Args:
        subject: the client.
        call: one of the calls of the subject.
        properties: of each entity.
        budget: for all rounds together.
        clock: measures the calls, `time.perf_counter` by default.
    """
    rows = subject.without()
    contexts: dict[str, Context] = {
        ALL: functools.partial(sides.patched, *subject.patches),
        "stock": contextlib.nullcontext,
        **{
            name: functools.partial(patched_without, subject.patches, removed)
            for name, removed in rows.items()
        },
    }
    with subject.loaded(call, properties) as (task, check):
        timed = interleave(dict.fromkeys(contexts, task), budget, contexts, clock)
        check(timed["stock"].last, timed[ALL].last)
    whole = timed[ALL].seconds
    return Line(
        call=f"{call}, {subject.entities} x {properties}",
        properties=properties,
        milliseconds=summarize(scaled(whole, 1e3)),
        stock=paired_ratio(timed["stock"].seconds, whole),
        gains={name: paired_ratio(timed[name].seconds, whole) for name in rows},
    )


def _percent(ratio: Summary) -> str:
    median, low, high = ((value - 1) * 100 for value in (ratio.median, ratio.q1, ratio.q3))
    return f"{median:+.0f}% ({low:+.0f} to {high:+.0f})"


def table(lines: Sequence[Line]) -> str:
    """The results as a table of reStructuredText: a row for each seam, a column for each line."""
    rows: list[list[Any]] = [
        ["all of them", *(_percent(line.stock) for line in lines)],
        *(
            [f"``{name}``", *(_percent(line.gains[name]) for line in lines)]
            for name in lines[0].gains
        ),
        ["ms with all seams", *(f"{line.milliseconds.median:.1f}" for line in lines)],
        ["rounds", *(line.stock.rounds for line in lines)],
    ]
    return tabulate(rows, ["without", *(line.call for line in lines)], tablefmt="rst")


@click.command()
@click.argument("output", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--client", type=click.Choice(sorted(SUBJECTS)), default="ndb", show_default=True)
@click.option("--table", "rst", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--seconds", default=60.0, show_default=True, help="Of measuring, for each line.")
@click.option("--cpu", is_flag=True, help="Measure CPU time of this process, not wall time.")
def main(*, output: Path, client: str, rst: Path | None, seconds: float, cpu: bool) -> None:
    """Measure the gain of each seam of a client, and write it to OUTPUT as JSON."""
    budget = Budget(seconds=seconds, min_rounds=9, max_rounds=400, sample_seconds=0.02)
    clock = time.process_time if cpu else None
    subject = SUBJECTS[client]()
    lines = [
        measure(subject, call, count, budget, clock) for call in subject.calls for count in COUNTS
    ]
    ablation = Ablation(environment.describe("native"), lines)
    output.write_bytes(msgspec.json.encode(ablation))
    if rst:
        rst.write_text(table(lines) + "\n", encoding="utf-8")
    click.echo(table(lines))


if __name__ == "__main__":
    main()
