"""The tests that need one pass only, on the native backend or on the pure one.

Which backend lazyentity chose for its process does not matter to them. A pass on the pure backend
leaves them out after one on the native backend, and one on the native backend runs them alone after
one on the pure backend:

- A native implementation, where a test is of each in turn, is what the native backend uses. With
  the modules of the pure backend around it, it is nothing that an application can have.
- Tests that are marked ``any_backend`` name the backend that they test, or test none.
"""

from __future__ import annotations

from collections import Counter

import pytest

import lazyentity

AFTER_NATIVE, AFTER_PURE = "--after-native", "--after-pure"

# Fixtures that give the implementation of each backend in turn, and have its name for a parameter.
_OF_EACH_BACKEND = ("lazy_type", "make", "encoder")

_left_out = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        AFTER_NATIVE,
        action="store_true",
        help="run on the pure backend what does not do the same on the native one",
    )
    parser.addoption(
        AFTER_PURE,
        action="store_true",
        help=f"run on the native backend what {AFTER_NATIVE} leaves out",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an option where it would leave out what nothing else tests.

    Raises:
        pytest.UsageError: the backend is not the one of the option.
    """
    for option, backend in ((AFTER_NATIVE, "pure"), (AFTER_PURE, "native")):
        if config.getoption(option) and lazyentity.backend != backend:
            raise pytest.UsageError(f"{option} is for LAZYENTITY_BACKEND={backend}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what a pass on the other backend has covered."""
    if config.getoption(AFTER_NATIVE):
        reasons = {item: reason for item in items if (reason := _either(item)) is not None}
    elif config.getoption(AFTER_PURE):
        chosen = "that depend on the backend chosen"
        reasons = {item: chosen for item in items if _either(item) is None}
    else:
        return
    config.stash[_left_out] = Counter(reasons.values())
    config.hook.pytest_deselected(items=list(reasons))
    items[:] = [item for item in items if item not in reasons]


def pytest_report_collectionfinish(config: pytest.Config) -> list[str]:
    """Say how many tests were left out, and why."""
    left_out = config.stash.get(_left_out, Counter())
    return [
        f"left out after the other pass: {count} {reason}" for reason, count in left_out.items()
    ]


def _either(item: pytest.Item) -> str | None:
    """Return why a test does the same with either backend chosen; None if it does not."""
    if item.get_closest_marker("any_backend"):
        return "that do the same with any backend chosen"
    callspec = getattr(item, "callspec", None)
    if callspec is not None and any(
        callspec.params.get(fixture) == "native" for fixture in _OF_EACH_BACKEND
    ):
        return "of a native implementation, which the native backend uses"
    return None
