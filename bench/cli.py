"""The command line of the benchmark."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lazyentity.bench import own_entities, run
from lazyentity.bench.cases import synthetic
from lazyentity.bench.measure import results, sides, verify
from lazyentity.bench.report import chart, goals, terminal

_DEFAULT_OUTPUT = Path("lazyentity-bench.json")
_OWN_LIMIT = 300


class _Failure(click.ClickException):
    """An error of the environment, not of the measurement."""

    exit_code = 2


def _sorted(
    _context: click.Context, _parameter: click.Parameter, given: tuple[int, ...]
) -> tuple[int, ...]:
    return tuple(sorted(set(given)))


def _measure(chosen: Sequence[run.Step]) -> list[run.Part]:
    """Make the measurements under a progress bar, or a line for each section in a log."""
    console = Console(stderr=True)
    announced: set[str] = set()
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as progress:
        task = progress.add_task("starting", total=len(chosen))

        def show(section: str) -> None:
            progress.update(task, description=section)
            if not console.is_terminal and section not in announced:
                announced.add(section)
                console.print(f"measuring: {section}")

        parts = []
        for part in run.run(chosen, show):
            parts.append(part)
            progress.advance(task)
        return parts


def _check_goals(outcomes: Sequence[goals.Outcome], console: Console) -> None:
    """Show the goals of the backend.

    Raises:
        click.ClickException: some are missed; the text names each.
    """
    terminal.show_goals(outcomes, console)
    if missed := [str(outcome) for outcome in outcomes if not outcome.met]:
        raise click.ClickException("\n  ".join([f"{len(missed)} goals missed:", *missed]))


@click.command()
@click.option("--quick", is_flag=True, help="Fewer cases and rounds, a minute or two.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=_DEFAULT_OUTPUT,
    show_default=True,
    help="Where the results go, as JSON.",
)
@click.option(
    "--plot", "svg", type=click.Path(path_type=Path, dir_okay=False), help="Write an SVG chart too."
)
@click.option(
    "--properties",
    type=click.IntRange(1, 10_000),
    multiple=True,
    callback=_sorted,
    help="An attribute count to measure (repeatable).",
)
@click.option(
    "--mixes",
    type=click.Choice(list(synthetic.MIXES)),
    multiple=True,
    help="A mix of property types to measure (repeatable).",
)
@click.option("--check", is_flag=True, help="Fail, naming them, when declared goals are missed.")
@click.option("--ndb", is_flag=True, help="Measure models of google-cloud-ndb instead.")
@click.option("--appengine", is_flag=True, help="Measure App Engine's bundled client instead.")
@click.option("--kind", help="Decode your own entities of this kind instead; they are only read.")
@click.option("--project", help="The project of --kind.")
@click.option("--namespace", help="The namespace of --kind.")
@click.option("--database", help="The database of --kind.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=_OWN_LIMIT,
    show_default=True,
    help="How many of --kind.",
)
def main(
    *,
    quick: bool,
    output: Path,
    svg: Path | None,
    properties: tuple[int, ...],
    mixes: tuple[str, ...],
    check: bool,
    ndb: bool,
    appengine: bool,
    kind: str | None,
    project: str | None,
    namespace: str | None,
    database: str | None,
    limit: int,
) -> None:
    """Measure decoding Datastore entities lazily against decoding them in full.

    The idea of this microbenchmark, full against lazy over a range of attribute counts, is from the
    2016 Google App Engine post on lazily decoded Datastore entities.

    With --kind the same comparison runs on your own entities: those of the emulator that
    DATASTORE_EMULATOR_HOST names, or of the service with your default credentials.
    """
    if kind is None and (project or namespace or database):
        raise click.UsageError("--project, --namespace and --database go with --kind")
    if kind is not None and (svg or check or properties or mixes):
        raise click.UsageError("--plot, --check, --properties and --mixes do not go with --kind")
    for option, is_given in (("--ndb", ndb), ("--appengine", appengine)):
        if is_given and (kind is not None or svg or properties or mixes or ndb is appengine):
            raise click.UsageError(
                f"--kind, --plot, --properties, --mixes and another client do not go with {option}"
            )
    plan = run.QUICK if quick else run.FULL
    try:
        with contextlib.ExitStack() as files:
            for path in filter(None, (output, svg)):
                files.enter_context(results.writable(path))
            if ndb or appengine:
                chosen = run.ndb_steps(plan) if ndb else run.appengine_steps(plan)
                source = None
            elif kind is None:
                chosen = run.steps(plan, mixes or tuple(synthetic.MIXES), properties or plan.counts)
                source = None
            else:
                plan = replace(plan, mode="own")
                own = own_entities.Source(kind, limit, project, namespace, database)
                raw = own.fetch()
                chosen = run.own_steps(plan, own_entities.own_cases(raw, synthetic.READS))
                source = f"{len(raw)} entities of {own}"
            measured = run.collect(_measure(chosen), plan.mode, source)
            results.write(output, results.dump(measured))
            if svg:
                results.write(svg, chart.svg(measured))
    except (
        results.ResultsError,
        own_entities.Unreachable,
        sides.PatchedProcess,
        chart.NothingToPlot,
    ) as error:
        raise _Failure(str(error)) from error
    except verify.OutputMismatch as error:
        raise click.ClickException(
            f"lazy and stock differ, nothing is recorded: {error}"
        ) from error
    console = Console()
    terminal.show(measured, console)
    click.echo(f"results: {output}" + (f", chart: {svg}" if svg else ""))
    if check:
        declared = goals.GOALS
        if ndb or appengine:
            declared = goals.NDB_GOALS if ndb else goals.APPENGINE_GOALS
        _check_goals(goals.evaluate(measured, declared), console)
