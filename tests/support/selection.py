"""The option ``--loopback-once``: each test over a loopback server runs in one way, not in all.

Such a test takes servers, transports and ways to patch in turn. After the first pass, another
Python, backend or version of a client needs one of these: the next test takes the next ones.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pytest

OPTION = "--loopback-once"

# Fixtures of each server, each transport and each way to patch.
_OF_EACH_KIND = frozenset({"activation", "endpoint", "names", "stored", "transport"})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION,
        action="store_true",
        help="run a test over a loopback server once, and not for each transport and way to patch",
    )


@pytest.hookimpl(trylast=True)  # after the marks that are not asked for were left out
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect all but one of the tests that differ only in server, transport and patch."""
    if not config.getoption(OPTION):
        return
    tests: dict[Hashable, list[pytest.Item]] = {}
    for item in items:
        if isinstance(item, pytest.Function):
            tests.setdefault(_without_kind(item), []).append(item)
    kept = {kinds[number % len(kinds)] for number, kinds in enumerate(tests.values())}
    left_out = [item for item in items if isinstance(item, pytest.Function) and item not in kept]
    config.hook.pytest_deselected(items=left_out)
    dropped = set(left_out)
    items[:] = [item for item in items if item not in dropped]


def _without_kind(item: pytest.Function) -> Hashable:
    """Return the test and its parameters, but not the server and the patch."""
    callspec = getattr(item, "callspec", None)
    parameters = {} if callspec is None else callspec.params
    kinds = _OF_EACH_KIND & _fixtures(item)
    # A value of parametrize() is the same object in each of its tests, but need not be hashable.
    own = frozenset((name, id(value)) for name, value in parameters.items() if name not in kinds)
    return item.parent, item.originalname, own


def _fixtures(item: pytest.Function) -> set[str]:
    """Return the names of the fixtures of a test, and of those that these need."""
    # pytest counts the parameters of a test among its fixtures.
    marks = item.iter_markers("parametrize")
    given = {name for mark in marks for name in _names(mark.args[0])}
    return set(item.fixturenames) - given


def _names(parameters: str | Sequence[str]) -> Sequence[str]:
    return parameters.replace(",", " ").split() if isinstance(parameters, str) else parameters
