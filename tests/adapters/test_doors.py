"""By whatever door an entity comes in, every adapted library gets what it gets of a stock one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters import doors
from tests.support import forks

STATES = ("libraries first", "libraries last", "eager patch", "unpatched", "patched")


def _come_in(state: str, folder: Path, **environment: str) -> tuple[dict[str, str], list[str]]:
    """Go through every door in a process; see :mod:`tests.adapters.doors_program`."""
    program = "tests.adapters.doors_program"
    kinds, differences = forks.answer("-m", program, state, str(folder), **environment)
    assert kinds.keys() == doors.doors(folder).keys()
    return kinds, differences


def _is_stock(kind: str) -> bool:
    return kind in ("Entity", "dict")


@pytest.mark.parametrize("state", STATES)
def test_every_library_gets_stock_contents(state: str, tmp_path: Path) -> None:
    """In a process that is patched or not, with every door that there is."""
    kinds, differences = _come_in(state, tmp_path)
    assert differences == []
    stock = {name for name, kind in kinds.items() if _is_stock(kind)}
    eager = {name for name in kinds if name.endswith(doors.INSIDE)}
    # Without a patch in lazy mode, the client's own conversion makes stock entities.
    assert stock == eager | {*doors.COPIES, *(() if state == "patched" else ("read",))}


@pytest.mark.parametrize("name", ["LAZYENTITY_DISABLE", "LAZYENTITY_EAGER"])
@pytest.mark.parametrize("state", ["libraries last", "patched"])
def test_the_switches_give_stock_entities(name: str, state: str, tmp_path: Path) -> None:
    kinds, _ = _come_in(state, tmp_path, **{name: "1"})
    assert {door: kind for door, kind in kinds.items() if not _is_stock(kind)} == {}
