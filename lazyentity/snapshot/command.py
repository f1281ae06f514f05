"""The command ``snapshot``: saving, describing and checking a snapshot of a kind."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import click
from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore
from google.cloud.environment_vars import GCD_DATASET, GCD_HOST
from rich.console import Console
from rich.table import Table

from lazyentity._commands import named, progress_bar
from lazyentity.snapshot.format import SnapshotError
from lazyentity.snapshot.snapshots import Snapshot

_FILE = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
_PROJECTS = (GCD_DATASET, "GOOGLE_CLOUD_PROJECT")
_DEFAULT_PROJECT = "demo"


@click.group()
def main() -> None:
    """Keep the entities of a kind in one file, and read them without the service.

    The entities come from the emulator that DATASTORE_EMULATOR_HOST names, or from the service
    with your default credentials. They are only read.
    """


@main.command()
@_FILE
@click.option("--kind", required=True, callback=named, help="The kind of the entities.")
@click.option("--project", callback=named, help="The project; by default that of the environment.")
@click.option("--namespace", help="The namespace; by default the empty one.")
@click.option("--database", help="The database; by default the default one.")
@click.option("--allow-empty", is_flag=True, help="Accept a kind without entities.")
def save(file: Path, kind: str, allow_empty: bool, **options: str | None) -> None:
    """Save a kind to FILE, in place of a snapshot that is there."""
    if options["project"] is None and GCD_HOST in os.environ:
        # Without one, the client asks for default credentials, which an emulator does not need.
        named_ones = (os.environ.get(name) for name in _PROJECTS)
        options["project"] = next(filter(None, named_ones), _DEFAULT_PROJECT)
    with _failures():
        query = datastore.Client(**options).query(kind=kind)
        with progress_bar() as progress:
            task = progress.add_task(kind, total=None)
            count = Snapshot(file).refresh(
                query,
                allow_empty=allow_empty,
                progress=lambda number: progress.update(task, completed=number),
            )
    click.echo(f"{file}: {count:,} entities")


@main.command()
@_FILE
def info(file: Path) -> None:
    """Show the contents of FILE."""
    with _failures():
        information = Snapshot(file).information()
    table = Table("", str(file), show_header=True)
    for name, value in information._asdict().items():
        text = f"{value:,}" if isinstance(value, int) else str(value or "entities")
        table.add_row(name.replace("_", " "), text)
    Console().print(table)


@main.command()
@_FILE
def verify(file: Path) -> None:
    """Read all of FILE and compare it with its checksums; the exit status is 1 for damages."""
    with _failures():
        damages = Snapshot(file).verify()
    for damage in damages:
        click.echo(str(damage), err=True)
    if damages:
        raise click.ClickException(f"{file} has {len(damages)} damages")
    click.echo(f"{file} is sound")


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Turn errors that the user can do something about into one line."""
    try:
        yield
    except (SnapshotError, GoogleAPICallError, RetryError, GoogleAuthError, OSError) as error:
        # Without a project, from an option or the environment, the client raises an OSError.
        raise click.ClickException(str(error)) from error
