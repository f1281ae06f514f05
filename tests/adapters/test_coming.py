"""Entities that hooks and iterators make during a call: nothing is lost while none was alive."""

from __future__ import annotations

from lazyentity._inplace import SLOTS
from tests.support.subprocesses import answer


def _compared(*arguments: str) -> tuple[list[str], list[str]]:
    program = ("-W", "ignore", "-m", "tests.adapters.coming_program", *arguments)
    names, different = answer(*program, warnings="ignore")
    return names, different


def test_entities_that_come_during_a_call() -> None:
    """With every library that has a hook, or takes the items of iterators; stock is the oracle."""
    names, different = _compared()
    assert len(names) > 300
    # The pure backend cannot decode the items of iterators inside of the arguments.
    assert different == ([] if SLOTS else _compared("kept")[1])
