"""Adapted libraries get from random graphs of objects what they get with stock entities."""

from __future__ import annotations

import pytest

from tests.adapters.uses import installed
from tests.fuzz.graphs import compare, lazily, made
from tests.fuzz.uses import USES

CASES = 300
OF_TEST = 50


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, CASES, OF_TEST))
def test_random_graphs(first: int) -> None:
    """The fuzzer's first cases; it makes the same ones again and runs each alone."""
    cases = [made(1, number) for number in range(first, first + OF_TEST)]
    with installed():
        done = [lazily(case) for case in cases]
    for case, each in zip(cases, done, strict=True):
        try:
            compare(case, each)
        except AssertionError as error:
            raise AssertionError(str(case)) from error


def test_each_use_is_among_the_cases() -> None:
    assert {made(1, number).use for number in range(CASES)} == set(USES)
