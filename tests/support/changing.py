"""Code that runs in the middle of an operation, and changes what the operation works on."""

from __future__ import annotations

import datetime
import itertools
import threading
from collections.abc import Callable
from typing import Any

from tests.support.concurrency import together


class ActingZone(datetime.tzinfo):
    """UTC, whose offset is asked for while a datetime is written.

    Args:
        act: called each time.
    """

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act

    def utcoffset(self, _when: object) -> datetime.timedelta:
        self._act()
        return datetime.timedelta(0)

    def dst(self, _when: object) -> None:
        return None

    def tzname(self, _when: object) -> str:
        return "UTC"


def acting(act: Callable[[], object]) -> datetime.datetime:
    """Return a datetime that calls a function when it is written."""
    return datetime.datetime(2024, 1, 2, tzinfo=ActingZone(act))


def _swap(properties: Any) -> None:
    del properties["p9"]
    properties["later"] = 5


CHANGES: dict[str, Callable[[Any], object]] = {
    "adds": lambda properties: properties.update(later=5),
    "deletes": lambda properties: properties.pop("p9"),
    "swaps": _swap,
    "assigns": lambda properties: properties.update(p2=20, p9=90),
    "reads": lambda properties: [properties[name] for name in list(properties)],
}
"""Changes of a mapping that has the names p1, p2 and so on."""


def rebuild(mapping: Any, *moved: str, made: Callable[[str], object] = str) -> None:
    """Leave the same names, in a key table in which they are elsewhere.

    Args:
        mapping: a dict of any class.
        moved: the names that come to other places; the first three, if there are none.
        made: makes the values of names that come and go.
    """
    old = {name: mapping.pop(name) for name in moved or list(mapping)[:3]}
    new = [f"new{number}" for number in range(40)]
    for name in new:
        mapping[name] = made(name)
    for name in new:
        del mapping[name]
    mapping.update(old)


def adding_and_deleting(mapping: Any) -> Callable[[int], None]:
    """Return a change for :func:`meanwhile`: twelve names come and go."""
    names = [f"new{number}" for number in range(12)]

    def change(turn: int) -> None:
        for name in names:
            mapping[name] = turn
        for name in names:
            del mapping[name]

    return change


def meanwhile(change: Callable[[int], object], act: Callable[[], object]) -> None:
    """Call ``change`` with 1, 2, 3 and so on in a thread, for as long as ``act`` takes in another.

    Raises:
        Exception: one of the two raised it.
    """
    over = threading.Event()

    def changing() -> None:
        for turn in itertools.count(1):
            change(turn)
            if over.is_set():
                return

    def acting() -> None:
        try:
            act()
        finally:
            over.set()

    together(2, lambda number: acting() if number else changing())
