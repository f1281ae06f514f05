"""The ends of a command: goals that are met or not, and failures without an outcome."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

import click


class Failure(click.ClickException):
    """An error of the environment, not of the measurement."""

    exit_code = 2


class Interrupted(click.ClickException):
    """The user ended the run."""

    exit_code = 128 + signal.SIGINT


@dataclass(frozen=True)
class Outcome:
    """A bound on a figure, and the median that a run reached.

    Attributes:
        figure: the name of the figure.
        median: None where the run did not measure the figure.
        bound: of the median.
        at_least: whether the bound is a lower one; else an upper one.
    """

    figure: str
    median: float | None
    bound: float
    at_least: bool

    @property
    def met(self) -> bool:
        """Whether the bound holds. A figure that was not measured misses its goal."""
        if self.median is None:
            return False
        if self.at_least:
            return self.median >= self.bound
        return self.median <= self.bound

    def __str__(self) -> str:
        reached = "not measured" if self.median is None else f"{self.median:.2f}"
        relation = "at least" if self.at_least else "at most"
        return f"{self.figure}: {reached}, must be {relation} {self.bound:g}"


def require_met(outcomes: Sequence[Outcome]) -> None:
    """Return if all goals are met.

    Raises:
        click.ClickException: some goals are missed; the text names each.
    """
    if missed := [str(outcome) for outcome in outcomes if not outcome.met]:
        raise click.ClickException("\n  ".join([f"{len(missed)} goals missed:", *missed]))
