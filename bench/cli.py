"""The command line of the benchmark."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from lazyentity._commands import named, progress_bar
from lazyentity.bench import own_entities, run
from lazyentity.bench.cases import synthetic
from lazyentity.bench.harness import outcomes, results, sides, verify
from lazyentity.bench.harness.outcomes import Failure, Interrupted
from lazyentity.bench.report import chart, goals, terminal

_DEFAULT_OUTPUT = Path("lazyentity-bench.json")
_OWN_LIMIT = 300
_OWN_RATE = 100.0
_SUBJECTS = {
    "--ndb": ("ndb", run.ndb_steps, goals.NDB_GOALS),
    "--appengine": ("appengine", run.appengine_steps, goals.APPENGINE_GOALS),
    "--packed": ("packed", run.packed_steps, goals.PACKED_GOALS),
    "--columns": ("pandas", run.columns_steps, goals.COLUMNS_GOALS),
    "--adapters": ("bench-all", run.adapter_steps, ()),
}
"""The subjects that are measured in place of entities, by option: their extra, steps and goals."""


def _names(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> tuple[str, ...]:
    if given is None:
        return ()
    names = tuple(dict.fromkeys(part.strip() for part in given.split(",")))
    if "" in names:
        raise click.BadParameter("name the properties, as in a,b,c")
    return names


def _finite(
    _context: click.Context, _parameter: click.Parameter, given: float | None
) -> float | None:
    # The range of the option contains both infinity and, as comparisons are false, NaN.
    if given is not None and not math.isfinite(given):
        raise click.BadParameter("it is not a finite number")
    return given


def _measure(chosen: Sequence[run.Step]) -> tuple[list[run.Part], bool]:
    """Make the measurements under a progress bar, or a line for each section in a log.

    Returns:
        The finished measurements, and whether the user interrupted the run before its end.

    Raises:
        KeyboardInterrupt: the user interrupted the first measurement.
    """
    announced: set[str] = set()
    with progress_bar() as progress:
        console = progress.console
        task = progress.add_task("starting", total=len(chosen))

        def show(section: str) -> None:
            progress.update(task, description=section)
            if not console.is_terminal and section not in announced:
                announced.add(section)
                console.print(f"measuring: {section}")

        parts: list[run.Part] = []
        try:
            for part in run.run(chosen, show):
                parts.append(part)
                progress.advance(task)
        except KeyboardInterrupt:
            if not parts:
                raise
            return parts, True
        return parts, False


def _of_subject(subject: str, plan: run.Plan) -> tuple[list[run.Step], Sequence[goals.Goal]]:
    """The measurements of a subject, and its goals.

    Raises:
        click.ClickException: its extra is not installed.
    """
    extra, steps, declared = _SUBJECTS[subject]
    try:
        return steps(plan), declared or _adapter_goals()
    except ImportError as error:
        raise Failure(
            f"its subject cannot be imported ({error}); install it with "
            f"`pip install 'lazyentity[{extra}]'`"
        ) from error


def _adapter_goals() -> tuple[goals.Goal, ...]:
    """The goals of adapters, of the libraries that are installed."""
    from lazyentity.bench.subjects import adapter_costs

    return goals.adapter_goals(adapter_costs.installed_uses())


def _of_call(steps: Sequence[run.Step], call: str) -> list[run.Step]:
    """The measurements of a call.

    Raises:
        click.UsageError: there is no such call.
    """
    chosen = run.of_calls(steps, call)
    if not chosen:
        raise click.UsageError(f"there is no call {call!r} to measure")
    return chosen


@click.command()
@click.option("--quick", is_flag=True, help="Fewer cases and rounds, some minutes.")
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
@click.option(
    "--call",
    callback=named,
    help="Measure only this end-to-end call of --ndb, or this library of --adapters; the other "
    "lines of --output stay.",
)
@click.option("--appengine", is_flag=True, help="Measure App Engine's bundled client instead.")
@click.option("--packed", is_flag=True, help="Measure packed documents instead.")
@click.option("--columns", is_flag=True, help="Measure tables of a few properties instead.")
@click.option("--adapters", is_flag=True, help="Measure what adapters cost calls without entities.")
@click.option(
    "--kind",
    callback=named,
    help="Decode your own entities of this kind instead; they are only read.",
)
@click.option("--project", callback=named, help="The project of --kind.")
@click.option("--namespace", help="The namespace of --kind.")
@click.option("--database", help="The database of --kind.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    default=_OWN_LIMIT,
    show_default=True,
    help="How many of --kind a query reads; it is sent about eight times.",
)
@click.option(
    "--read",
    "names",
    metavar="A,B,C",
    callback=_names,
    help="The properties of --kind that your code reads.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    callback=_finite,
    help=f"How many such queries a second your service sends.  [default: {_OWN_RATE:g}]",
)
def main(
    *,
    quick: bool,
    output: Path,
    svg: Path | None,
    properties: tuple[int, ...],
    mixes: tuple[str, ...],
    check: bool,
    call: str | None,
    kind: str | None,
    project: str | None,
    namespace: str | None,
    database: str | None,
    limit: int,
    names: tuple[str, ...],
    rate: float | None,
    **flags: bool,
) -> None:
    """Measure decoding Datastore entities lazily against decoding them in full.

    The idea of this microbenchmark, full against lazy over a range of attribute counts, is from the
    2016 Google App Engine post on lazily decoded Datastore entities.

    With --kind the same comparison runs on your own entities, from the emulator that
    DATASTORE_EMULATOR_HOST names, or from the service with your default credentials. It says which
    share of a query is decoding, and what your service would save.

    Ctrl-C ends it; what was measured until then is shown and recorded.
    """
    if kind is None and (project or namespace or database or names or rate):
        raise click.UsageError(
            "--project, --namespace, --database, --read and --rate go with --kind"
        )
    if kind is not None and (svg or check or properties or mixes):
        raise click.UsageError("--plot, --check, --properties and --mixes do not go with --kind")
    given = [option for option in _SUBJECTS if flags[option.strip("-")]]
    subject = given[0] if given else None
    if subject and (kind is not None or svg or properties or mixes or len(given) > 1):
        raise click.UsageError(
            f"--kind, --plot, --properties, --mixes and another subject do not go with {subject}"
        )
    if call is not None and subject not in ("--ndb", "--adapters"):
        raise click.UsageError("--call goes with --ndb or --adapters")
    plan = run.QUICK if quick else run.FULL
    declared: Sequence[goals.Goal] = goals.GOALS
    try:
        with contextlib.ExitStack() as checked:
            for path in filter(None, (output, svg)):
                checked.enter_context(results.writable(path))
            if subject:
                chosen, declared = _of_subject(subject, plan)
                source = None
                if call is not None:
                    earlier = results.load(output)
                    chosen = _of_call(chosen, call)
            elif kind is None:
                counts = sorted(set(properties)) or plan.counts
                chosen = run.steps(plan, mixes or tuple(synthetic.MIXES), counts)
                source = None
            else:
                plan = replace(plan, mode="own")
                own = own_entities.Source(kind, limit, project, namespace, database).fetch()
                cases = own_entities.own_cases(own.raw, synthetic.READS, names)
                chosen = run.own_steps(plan, cases, own.call, rate or _OWN_RATE)
                source = f"{len(own.raw)} entities of {own.source}"
            parts, is_interrupted = _measure(chosen)
            measured = results.Results.of(parts, plan.mode, source, is_interrupted)
            if call is not None:
                measured = results.with_calls(earlier, measured)
            results.write(output, results.dump(measured))
            if svg and not is_interrupted:
                results.write(svg, chart.svg(measured))
            elif svg and svg.stat().st_size == 0:
                # The file was made to see whether it can be written.
                svg.unlink()
    except KeyboardInterrupt:
        raise Interrupted("interrupted before anything was measured") from None
    except (
        results.ResultsError,
        own_entities.Unreachable,
        own_entities.UnknownProperty,
        sides.PatchedProcess,
        chart.NothingToPlot,
    ) as error:
        raise Failure(str(error)) from error
    except verify.OutputMismatch as error:
        raise click.ClickException(
            f"lazy and stock differ, nothing is recorded: {error}"
        ) from error
    console = Console()
    terminal.show(measured, console)
    has_chart = svg and not is_interrupted
    click.echo(f"results: {output}" + (f", chart: {svg}" if has_chart else ""))
    if is_interrupted:
        raise Interrupted(f"interrupted after {len(parts)} of {len(chosen)} measurements")
    is_whole = kind is None and subject is None
    if is_whole and (missing := run.missing_for_adapters()):
        click.echo(
            f"The adapters were not measured, as {', '.join(missing)} is not installed: "
            "pip install 'lazyentity[bench-all]'",
            err=True,
        )
    if check:
        compared = goals.evaluate(measured, declared)
        terminal.show_goals(compared, console)
        outcomes.require_met(compared)
