"""The command line of the benchmark."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from lazyentity._commands import named, progress_bar
from lazyentity.bench import clients, harness, own, results, sides, tables, verify
from lazyentity.bench.harness import Case, Plan
from lazyentity.bench.results import Line, Results

_OWN_LIMIT = 300
_OWN_RATE = 100.0


class Failure(click.ClickException):
    """An error of the environment, not of the measurement."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user ended the run."""

    exit_code = 128 + signal.SIGINT


def _names(
    _context: click.Context, _parameter: click.Parameter, given: str | None
) -> tuple[str, ...]:
    if given is None:
        return ()
    names = tuple(dict.fromkeys(part.strip() for part in given.split(",")))
    if "" in names:
        raise click.BadParameter("name the properties, as in a,b,c")
    return names


def measure(cases: Sequence[Case], plan: Plan) -> tuple[list[Line], bool]:
    """Measure cases under a progress bar, or with a line for each section in a log.

    Returns:
        The finished lines, and whether the user interrupted the run before its end.

    Raises:
        KeyboardInterrupt: the user interrupted the first measurement.
        sides.PatchedProcess: lazyentity is active in this process.
        verify.OutputMismatch: lazy and stock outputs differ.
    """
    sides.require_unpatched()
    announced: set[str] = set()
    lines: list[Line] = []
    with progress_bar() as progress:
        task = progress.add_task("starting", total=len(cases))
        try:
            for case in cases:
                progress.update(task, description=str(case))
                if not progress.console.is_terminal and case.section not in announced:
                    announced.add(case.section)
                    progress.console.print(f"measuring: {case.section}")
                lines.append(harness.measure(case, plan.budget(case.unit)))
                progress.advance(task)
        except KeyboardInterrupt:
            if not lines:
                raise
            return lines, True
    return lines, False


def _chosen(client: str, plan: Plan, only: str) -> list[Case]:
    chosen = [case for case in clients.cases(client, plan) if only in str(case)]
    if not chosen:
        raise click.UsageError(f"no case has {only!r} in its name")
    return chosen


@click.command()
@click.argument("client", type=click.Choice(clients.NAMES), default="datastore")
@click.option("--quick", is_flag=True, help="Fewer cases and rounds, some minutes.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("lazyentity-bench.json"),
    show_default=True,
    help="Where the results go, as JSON.",
)
@click.option("--only", default="", help="Measure the cases with this text in their names.")
@click.option(
    "--kind",
    callback=named,
    help="Decode your own entities of this kind instead; they are only read.",
)
@click.option(
    "--firestore", is_flag=True, help="Decode your own documents; goes with --collection."
)
@click.option("--collection", callback=named, help="The collection of --firestore; only read.")
@click.option("--project", callback=named, help="The project of --kind or --collection.")
@click.option("--namespace", help="The namespace of --kind.")
@click.option("--database", help="The database of --kind or --collection.")
@click.option(
    "--limit",
    type=click.IntRange(1),
    help=f"How many a query reads; it is sent about eight times.  [default: {_OWN_LIMIT}]",
)
@click.option(
    "--read",
    "names",
    metavar="A,B,C",
    callback=_names,
    help="The properties that your code reads.",
)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    help=f"How many such queries a second your service sends.  [default: {_OWN_RATE:g}]",
)
def main(
    *,
    client: str,
    quick: bool,
    output: Path,
    only: str,
    kind: str | None,
    firestore: bool,
    collection: str | None,
    project: str | None,
    namespace: str | None,
    database: str | None,
    limit: int | None,
    names: tuple[str, ...],
    rate: float | None,
) -> None:
    """Measure CLIENT with lazyentity against CLIENT as it is: google-cloud-datastore by default.

    The idea of this microbenchmark, full against lazy over a range of attribute counts, is from the
    2016 Google App Engine post on lazily decoded Datastore entities.

    With --kind the same comparison runs on your own entities, from the emulator that
    DATASTORE_EMULATOR_HOST names, or from the service with your default credentials. It says which
    share of a query is decoding, and what your service would save. --firestore --collection does
    the same for documents of Firestore, and FIRESTORE_EMULATOR_HOST.

    Ctrl-C ends it; what was measured until then is shown and recorded.
    """
    is_own = kind is not None or collection is not None
    if not is_own and any((project, namespace, database, limit, names, rate)):
        raise click.UsageError(
            "--project, --namespace, --database, --limit, --read and --rate go with --kind or "
            "--collection"
        )
    if is_own and (only or client != "datastore"):
        raise click.UsageError("--only and a client do not go with --kind or --collection")
    if firestore != (collection is not None) or (collection is not None and (kind or namespace)):
        raise click.UsageError("--firestore goes with --collection, and with no --kind")
    plan = harness.QUICK if quick else harness.FULL
    call = found = None
    try:
        results.check_writable(output)
        if not is_own:
            cases = _chosen(client, plan, only)
        else:
            if collection is not None:
                found = own.documents(collection, limit or _OWN_LIMIT, project, database)
            else:
                found = own.entities(kind or "", limit or _OWN_LIMIT, project, database, namespace)
            client = found.client
            cases = found.cases(names)
            sides.require_unpatched()
            call = found.measure_call(rate or _OWN_RATE)
        lines, interrupted = measure(cases, plan)
        measured = Results(
            client=client,
            lines=lines,
            mode="own" if is_own else plan.mode,
            source=found.described if found else None,
            own_call=call,
            interrupted=interrupted,
        )
        results.write(output, measured)
    except ImportError as error:
        client = "firestore" if firestore else client.partition("-growth")[0]
        raise Failure(
            f"{client} cannot be imported ({error}); install it with "
            f"`pip install '.[{client}]'` in a checkout of lazyentity"
        ) from error
    except KeyboardInterrupt:
        raise Interrupted("interrupted before anything was measured") from None
    except (
        results.ResultsError,
        own.Unreachable,
        own.UnknownProperty,
        sides.PatchedProcess,
    ) as error:
        raise Failure(str(error)) from error
    except verify.OutputMismatch as error:
        raise click.ClickException(
            f"lazy and stock differ, nothing is recorded: {error}"
        ) from error
    tables.show(measured, Console())
    click.echo(f"results: {output}")
    if interrupted:
        raise Interrupted(f"interrupted after {len(lines)} of {len(cases)} measurements")
