"""By whatever door an entity comes in, every adapted library gets what it gets of a stock one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters import doors
from tests.support import forks

_PATCH = "import google.cloud.datastore, lazyentity; lazyentity.patch"
STATES = {
    "libraries first": """
import importlib.util
for name in "orjson", "msgspec", "pydantic", "polars", "pyarrow", "duckdb", "xml.etree.ElementTree":
    if importlib.util.find_spec(name.partition(".")[0]) is not None:
        importlib.import_module(name)
""",
    "libraries last": "",
    "eager patch": f"{_PATCH}(eager=True)",
    "unpatched": f"{_PATCH}(); lazyentity.unpatch()",
    "patched": f"{_PATCH}()",
}
"""What the application does before the first entity comes in."""


def _come_in(state: str, folder: Path, **environment: str) -> tuple[dict[str, str], list[str]]:
    """Go through every door in a process, which imports lazyentity at last."""
    program = f"{STATES[state]}\nfrom tests.adapters import doors; doors.main({str(folder)!r})"
    kinds, differences = forks.answer("-c", program, warnings="ignore", **environment)
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
