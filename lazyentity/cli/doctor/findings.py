"""The findings that make up the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Level = Literal["ok", "note", "problem"]

PROBLEM: Final = "problem"
"""Reads stay stock, or ``patch(strict=True)`` raises: the exit status is 1."""
NOTE: Final = "note"
"""lazyentity works, but slower, or not as expected."""


@dataclass(frozen=True)
class Finding:
    """A line of the report.

    Attributes:
        subject: the thing that was examined; the same word in every run.
        text: the state of the subject.
        level: how bad that state is.
        advice: what to do about it; empty if nothing is to be done.
        details: the attributes that it is about, each as a module, a colon and a path in it.
        brief: the text on one line of the screen, if nothing is to be done; the empty string if
            that is the text itself.
        group: the subject of a line with all such findings; the empty string for its own line.
    """

    subject: str
    text: str
    level: Level = "ok"
    advice: str = ""
    details: Sequence[str] = ()
    brief: str = ""
    group: str = ""
