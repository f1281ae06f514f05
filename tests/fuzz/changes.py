"""Entities that change while they are written: patched, then the same by the stock client.

python -m tests.fuzz.changes --seconds 60
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import lazyentity
from lazyentity import LazyEntity
from tests.fuzz import running
from tests.support import write_cases
from tests.support.snapshots import Raised, outcome
from tests.support.stock import encoded, reparsed

_MOST_CHANGES = 6


def made(seed: int, number: int) -> write_cases.Case:
    """Return the case of a number."""
    chance = running.chance_of(seed, number)
    return write_cases.Case(
        container=chance.choice(write_cases.CONTAINERS),
        trigger=chance.choice(write_cases.TRIGGERS),
        place=chance.randrange(7),
        values=tuple(chance.choices(write_cases.VALUES, k=7)),
        changes=tuple(
            (chance.choice(write_cases.CHANGES), chance.randrange(10))
            for _ in range(chance.randint(1, _MOST_CHANGES))
        ),
        times=chance.randint(1, 4),
    )


def lazily(case: write_cases.Case) -> tuple[Any, Any]:
    """Write the entity of a case in two ways: by the patched encoder, and by ``raw()``."""
    return (
        outcome(lambda: encoded(case.pair(LazyEntity)[0])),
        outcome(lambda: lazyentity.raw(case.pair(LazyEntity)[0])),
    )


def compare(case: write_cases.Case, done: tuple[Any, Any]) -> None:
    """Have the stock client write the counterpart, and compare.

    Raises:
        AssertionError: the sides differ.
    """
    expected = outcome(lambda: encoded(case.pair(LazyEntity)[1]))
    for written in done:
        if not isinstance(written, Raised):
            written = reparsed(written)  # the order of a map is not fixed
        case.compare(written, expected)


def smallest(case: write_cases.Case, fails: Callable[[write_cases.Case], bool]) -> write_cases.Case:
    """Return a case that fails as well, with no change that could be left out."""
    return replace(
        case, changes=running.needed(case.changes, lambda some: fails(replace(case, changes=some)))
    )


main = running.Fuzzer("python -m tests.fuzz.changes", made, lazily, compare, smallest).command(
    "Fuzz entities that change while they are written."
)


if __name__ == "__main__":
    main()
