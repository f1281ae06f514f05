"""The command ``snapshot``: saving, refreshing and checking a snapshot of a kind."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore
from google.cloud.datastore.query import Query
from rich.console import Console
from rich.table import Table

from lazyentity._commands import named, progress_bar
from lazyentity.snapshot.errors import SnapshotError
from lazyentity.snapshot.snapshots import Snapshot, Source

_logger = logging.getLogger("lazyentity.snapshot")

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


def _of_the_query(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a query."""
    for option in ("database", "namespace", "project", "kind"):
        # The empty namespace and the empty database are the default ones.
        check = named if option in ("project", "kind") else None
        described = f"The {option} of the entities."
        function = click.option(f"--{option}", callback=check, help=described)(function)
    return function


@click.group()
def main() -> None:
    """Keep the entities of a kind in one file, and read them without the service.

    The entities come from the emulator that DATASTORE_EMULATOR_HOST names, or from the service
    with your default credentials. They are only read.
    """


@main.command()
@_FILE
@_of_the_query
def save(file: Path, kind: str | None, **options: str | None) -> None:
    """Save a kind to a new FILE."""
    if file.exists():
        raise click.UsageError(f"{file} is there already; use `refresh` to bring it up to date")
    if kind is None:
        raise click.UsageError("--kind is missing")
    with _failures():
        client = datastore.Client(**options)
        query = client.query(kind=kind)
        count = _count(client, query)
        is_empty = not list(query.fetch(limit=1)) if count is None else count == 0
        # More likely a misspelt name than a kind to keep.
        if is_empty:
            raise click.ClickException(f"there is no entity of kind {kind!r}; {file} was not made")
        _fill(file, query, count)


@main.command()
@_FILE
@_of_the_query
@click.option("--replace", is_flag=True, help="Write everything anew, as after damage.")
@click.option("--allow-empty", is_flag=True, help="Accept a kind without entities.")
def refresh(
    file: Path, replace: bool, allow_empty: bool, kind: str | None, **options: str | None
) -> None:
    """Bring FILE up to date; the kind is that of the last time unless it is given.

    If saving FILE was interrupted, give the kind and the other options again.
    """
    with _failures():
        if kind is None:
            source = Snapshot(file).information().source
            if source is None or not source.is_whole_kind or source.kind is None:
                raise click.UsageError(f"{file} does not hold a whole kind; give --kind")
            kind = source.kind
            saved = source._asdict()
            options = {
                name: saved[name] if given is None else given for name, given in options.items()
            }
        elif not file.exists():
            raise click.UsageError(f"there is no snapshot {file}; use `save` to make it")
        client = datastore.Client(**options)
        query = client.query(kind=kind)
        count = _count(client, query)
        _fill(file, query, count, replace=replace, allow_empty=allow_empty)


@main.command()
@_FILE
def info(file: Path) -> None:
    """Show the contents of FILE."""
    with _failures():
        information = Snapshot(file).information()
    table = Table("", str(file), show_header=True)
    for name, value in information._asdict().items():
        if name == "source":
            table.add_row(name, _described(value))
        elif name == "refreshed":
            table.add_row(name, f"{value:%Y-%m-%d %H:%M:%S %Z}")
        else:
            table.add_row(name.replace("_", " "), f"{value:,}")
    Console().print(table)


@main.command()
@_FILE
def verify(file: Path) -> None:
    """Read all of FILE and compare it with its hashes; the exit status is 1 if it is damaged."""
    with _failures():
        snapshot = Snapshot(file)
        try:
            count = len(snapshot)
        except SnapshotError as error:
            # It is one of the damages, if the file can be read at all.
            _logger.debug("the entities of %s cannot be counted", file, exc_info=error)
            count = None
        with _progress("verifying", count) as progress:
            damages = snapshot.verify(progress)
    for damage in damages:
        click.echo(str(damage), err=True)
    if damages:
        raise click.ClickException(f"{file} has {len(damages)} damages")
    click.echo(f"{file} is sound")


def _fill(file: Path, query: Query, count: int | None, **options: bool) -> None:
    with _progress(query.kind, count) as progress:
        refreshed = Snapshot(file).refresh(query, progress=progress, **options)
    counts = ", ".join(f"{count:,} {name}" for name, count in refreshed._asdict().items())
    click.echo(f"{file}: {counts}")


def _count(client: datastore.Client, query: Query) -> int | None:
    """Return how many results a query has; None if the server does not say.

    The count is for the progress bar alone, and some servers cannot count.
    """
    try:
        ((result,),) = client.aggregation_query(query).count().fetch()
    except (GoogleAPICallError, RetryError) as error:
        _logger.debug("the entities of kind %s cannot be counted", query.kind, exc_info=error)
        return None
    return int(result.value)


def _described(source: Source | None) -> str:
    if source is None:
        return "entities"
    named = source._asdict()
    is_whole = named.pop("is_whole_kind")
    text = ", ".join(f"{name} {value}" for name, value in named.items() if value)
    return text if is_whole else f"{text}, a part"


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Turn errors that the user can do something about into one line.

    Raises:
        click.ClickException: the file or the service failed.
    """
    try:
        yield
    except (SnapshotError, GoogleAPICallError, RetryError, GoogleAuthError, OSError) as error:
        # Without a project, from an option or the environment, the client raises an OSError.
        raise click.ClickException(str(error)) from error


@contextlib.contextmanager
def _progress(text: str, total: int | None) -> Iterator[Callable[[int], Any]]:
    """Show a progress bar on a terminal; gives the function that moves the bar."""
    with progress_bar() as progress:
        task = progress.add_task(text, total=total)
        yield lambda number: progress.update(task, completed=number)
