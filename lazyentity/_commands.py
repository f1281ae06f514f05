"""Parts of the commands: checks of their options, and the progress bar, which needs rich."""

from __future__ import annotations

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def named(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """Return the name that an option gives.

    Raises:
        click.BadParameter: it is empty.
    """
    if given is not None and not given.strip():
        raise click.BadParameter("it is empty; give a name")
    return given


def progress_bar() -> Progress:
    """Return a progress bar on the standard error output, which only a terminal shows."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
