"""The findings, of which the report consists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

Level = Literal["ok", "note", "problem"]

PROBLEM: Final = "problem"
"""Reads stay stock, or ``patch(strict=True)`` raises: the exit status is 1."""
NOTE: Final = "note"
"""It works, but slower, or not as it could be expected."""


@dataclass(frozen=True)
class Finding:
    """A line of the report.

    Attributes:
        subject: what was looked at; the same word in every run.
        text: how it is.
        level: how bad it is.
        advice: what to do about it, unless that is nothing.
        details: the attributes that it is about, each as a module, a colon and a path in it.
    """

    subject: str
    text: str
    level: Level = "ok"
    advice: str = ""
    details: Sequence[str] = ()
