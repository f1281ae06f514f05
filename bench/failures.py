"""The ends of a command of the benchmark without an outcome."""

from __future__ import annotations

import signal

import click


class Failure(click.ClickException):
    """An error of the environment, not of the measurement."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user ended the run."""

    exit_code = 128 + signal.SIGINT
