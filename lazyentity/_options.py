"""Checks of the options of commands."""

from __future__ import annotations

import click


def named(_context: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
    """Return the name that an option gives.

    Raises:
        click.BadParameter: it is empty.
    """
    if given is not None and not given.strip():
        raise click.BadParameter("it is empty; give a name")
    return given
