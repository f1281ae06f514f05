"""The tests that a pass on the pure backend need not repeat after one on the native backend.

Which backend lazyentity chose for its process does not matter to them:

- A native implementation, where a test is of each in turn, is what the native backend uses. With
  the modules of the pure backend around it, it is nothing that an application can have.
- Tests that are marked ``any_backend`` name the backend that they test, or test none.
"""

from __future__ import annotations

from collections import Counter

import pytest

import lazyentity

OPTION = "--after-native"

# Fixtures that give the implementation of each backend in turn, and have its name for a parameter.
_OF_EACH_BACKEND = ("lazy_type", "make", "encoder")

_left_out = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        OPTION,
        action="store_true",
        help="run on the pure backend what does not do the same on the native one",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse the option where it would leave out what nothing else tests.

    Raises:
        pytest.UsageError: the backend is not the pure one.
    """
    if config.getoption(OPTION) and lazyentity.backend != "pure":
        raise pytest.UsageError(f"{OPTION} is for LAZYENTITY_BACKEND=pure")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what a pass on the native backend has covered."""
    if not config.getoption(OPTION):
        return
    reasons = {item: reason for item in items if (reason := _covered(item)) is not None}
    config.stash[_left_out] = Counter(reasons.values())
    config.hook.pytest_deselected(items=list(reasons))
    items[:] = [item for item in items if item not in reasons]


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say how many tests were left out, and why."""
    left_out = config.stash.get(_left_out, Counter())
    return [
        f"left out after the native pass: {count} {reason}" for reason, count in left_out.items()
    ]


def _covered(item: pytest.Item) -> str | None:
    """Return why a pass on the native backend covered a test; None if it did not."""
    if item.get_closest_marker("any_backend"):
        return "that do the same with any backend chosen"
    callspec = getattr(item, "callspec", None)
    if callspec is not None and any(
        callspec.params.get(fixture) == "native" for fixture in _OF_EACH_BACKEND
    ):
        return "of a native implementation, which the native backend uses"
    return None
