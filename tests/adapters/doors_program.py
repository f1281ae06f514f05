"""``python -m tests.adapters.doors_program STATE FOLDER``: every door of one state of a process.

Prints the types of the entities that come in, by door, and the differences to stock.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import warnings
from pathlib import Path

_LIBRARIES = (
    "orjson",
    "msgspec",
    "pydantic",
    "polars",
    "pyarrow",
    "duckdb",
    "xml.etree.ElementTree",
)


def _begin(state: str) -> None:
    """Do what the application does before the first entity comes in.

    Args:
        state: ``libraries first``: nothing, but it has imported libraries before lazyentity.
            ``libraries last``: nothing. ``eager patch``: ``patch(eager=True)``. ``unpatched``:
            ``unpatch()`` after ``patch()``. ``patched``: ``patch()``.
    """
    if state == "libraries first":
        for name in _LIBRARIES:
            if importlib.util.find_spec(name.partition(".")[0]) is not None:
                importlib.import_module(name)
    elif state != "libraries last":
        importlib.import_module("google.cloud.datastore")
        lazyentity = importlib.import_module("lazyentity")
        lazyentity.patch(eager=True if state == "eager patch" else None)
        if state == "unpatched":
            lazyentity.unpatch()


def _main(state: str, folder: str) -> None:
    warnings.simplefilter("ignore")
    _begin(state)
    # Now: it imports lazyentity.
    doors = importlib.import_module("tests.adapters.doors")
    ways = doors.doors(Path(folder))
    print(json.dumps([doors.kinds(ways), list(doors.differences(ways))]))  # noqa: T201  # the result


_main(*sys.argv[1:])
