"""The command ``python -m lazyentity pack``."""

from __future__ import annotations

import base64
import contextlib
import signal
import time
from collections.abc import Iterator

import click
from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.auth.exceptions import GoogleAuthError
from google.cloud import datastore

import lazyentity
from lazyentity._commands import named, progress_bar
from lazyentity._environment import DISABLE, is_set
from lazyentity.packed.format import COMPRESS_FROM
from lazyentity.packed.migration import WITHOUT_PROPERTY, Migration, Report, count_of

_SAY_SECONDS = 10.0


class _Interrupted(click.ClickException):
    """The user ended the run."""

    exit_code = 128 + signal.SIGINT


@click.command()
@click.option("--kind", required=True, callback=named, help="The kind of the entities.")
@click.option("--property", "name", required=True, callback=named, help="The property to pack.")
@click.option("--project", callback=named, help="The project; by default that of the environment.")
@click.option("--namespace", help="The namespace; by default the empty one.")
@click.option("--database", help="The database; by default the default one.")
@click.option("--dry-run", is_flag=True, help="Write nothing, and say what would be written.")
@click.option(
    "--compress-from",
    type=click.IntRange(0),
    default=COMPRESS_FROM,
    show_default=True,
    help="Bytes of JSON from which on a document is compressed.",
)
@click.option("--start-cursor", help="Continue where an earlier run stopped.")
def main(
    *,
    kind: str,
    name: str,
    project: str | None,
    namespace: str | None,
    database: str | None,
    dry_run: bool,
    compress_from: int,
    start_cursor: str | None,
) -> None:
    """Pack a property of all entities of a kind: embedded entities and lists become bytes.

    Entities that are packed already are left alone, so a run can be repeated or continued. Each
    entity is read and written in a transaction. The property is excluded from indexes from then on:
    queries on parts of it find nothing any more.

    The entities come from the emulator that DATASTORE_EMULATOR_HOST names, or from the service
    with your default credentials.
    """
    report = Report()
    with _patched():
        try:
            client = datastore.Client(project=project, namespace=namespace, database=database)
            waits = _Waits()
            migration = Migration(client, kind, name, compress_from, dry_run, waits.say)
            cursor = _cursor(start_cursor)
            # How many come before a cursor is not known.
            total = None if cursor is not None else _total(client, kind, waits)
            _show_progress(migration, report, cursor, total)
        except (GoogleAPICallError, RetryError, GoogleAuthError, OSError) as error:
            # Without a project the client raises an OSError.
            _show(report, dry_run)
            raise click.ClickException(f"stopped at an error: {error}") from error
        except KeyboardInterrupt:
            _show(report, dry_run)
            raise _Interrupted("interrupted; run the same command again to pack the rest") from None
    _show(report, dry_run)
    if cursor is None:
        # The rest of a kind may be empty, and without the property.
        _require_found(report, kind, name)


class _Waits:
    """Says that the server is waited for, and not more often than every ten seconds."""

    def __init__(self) -> None:
        self._until = 0.0

    def say(self, error: Exception) -> None:
        """Say it, with the error of the last request."""
        now = time.monotonic()
        if now >= self._until:
            self._until = now + _SAY_SECONDS
            click.echo(f"waiting for the server, and trying again: {error}", err=True)


def _require_found(report: Report, kind: str, name: str) -> None:
    """Check that there was something to pack, or to leave as it is.

    Raises:
        click.ClickException: no entity is of the kind, or none has the property.
    """
    if not report.seen:
        raise click.ClickException(
            f"there is no entity of the kind {kind!r}; check --kind, --project, --namespace and "
            "--database"
        )
    without = report.left.get(WITHOUT_PROPERTY)
    if without is not None and without.count == report.seen:
        raise click.ClickException(
            f"no entity of the kind {kind!r} has the property {name!r}; check --property"
        )


@contextlib.contextmanager
def _patched() -> Iterator[None]:
    """Read lazily, so that the other properties are written as they came.

    Raises:
        click.ClickException: the environment or the version of the client forbids it.
    """
    if is_set(DISABLE):
        raise click.ClickException(f"{DISABLE} is set, and packing has to read lazily; unset it")
    before = lazyentity.patched()
    try:
        lazyentity.patch("datastore", strict=True, eager=False)
    except RuntimeError as error:
        raise click.ClickException(str(error)) from error
    try:
        yield
    finally:
        if "datastore" not in before:
            lazyentity.unpatch("datastore")


def _cursor(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        # The client's own decoding skips characters that it does not know, and leaves nothing then.
        if not base64.b64decode(text, altchars=b"-_", validate=True):
            raise ValueError("it is empty")
        return text.encode("ascii")
    except ValueError as error:
        raise click.UsageError(
            f"--start-cursor is no cursor: {error}; pass the text after 'to continue:'"
        ) from error


def _total(client: datastore.Client, kind: str, waits: _Waits) -> int | None:
    """Return the number of entities for the progress bar, None where it is not known."""
    try:
        return count_of(client, kind, waits.say)
    except (GoogleAPICallError, RetryError):
        # Not every server counts, nor every kind within its time. The migration needs no count.
        return None


def _show_progress(
    migration: Migration, report: Report, cursor: bytes | None, total: int | None
) -> None:
    with progress_bar() as progress:
        task = progress.add_task(migration.kind, total=total)
        for state in migration.run(report, cursor):
            progress.update(task, completed=state.seen, description=f"{state.packed:,} packed")


def _show(report: Report, dry_run: bool) -> None:
    """Print the outcome: the count of each, and where to continue."""
    done = "would be packed" if dry_run else "packed"
    click.echo(f"{report.seen:,} entities read, {report.packed:,} {done}", nl=False)
    if report.packed:
        click.echo(
            f", {report.bytes_before:,} bytes before, {report.bytes_after:,} after", nl=False
        )
    click.echo()
    for reason, left in sorted(report.left.items()):
        path = "/".join(map(str, left.key.flat_path))
        click.echo(f"{left.count:,} left alone: {reason} (the first: {path})")
        if left.detail:
            click.echo(f"    {left.detail}")
    if report.cursor is not None:
        click.echo(f"to continue: --start-cursor {report.cursor.decode()}")
