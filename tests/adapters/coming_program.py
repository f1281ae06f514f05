"""Lazy entities that come into being while an adapted call runs.

Prints, as JSON, a list of the names of the uses, and those of the uses whose result is not that of
a stock entity. It runs alone in its process, in which no property is undecoded before a call. With
the argument ``kept`` an entity is alive elsewhere, and only the uses of iterators are compared.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from lazyentity import LazyEntity, _alive
from lazyentity._inplace import SLOTS
from tests.adapters import uses_hooks, uses_iterators
from tests.adapters.test_uses import NEED_SLOTS
from tests.adapters.uses import Uses, installed
from tests.adapters.uses_hooks import Later
from tests.entity.consumption import describe
from tests.support.snapshots import Raised, geo_points_without_address, outcome
from tests.support.stock import stock_entity
from tests.support.strategies.samples import serialise

RAW = serialise({"inner": {"deep": "value"}})
"""With one property: the order of several is another one for a stock entity."""


def _lazy() -> Any:
    return LazyEntity.from_bytes(RAW)


def _in_thread() -> Any:
    # The mode of a thread is its own: it makes lazy entities wherever the call gives stock ones.
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(_lazy()))
    thread.start()
    thread.join()
    return made.pop()


MAKERS = {"at once": _lazy, "in a thread": _in_thread}


def _described(use: Callable[[Any], Any], make: Callable[[], Any]) -> Any:
    # A result with the sentinel cannot be described, and so is an error.
    result = outcome(lambda entity: describe(use(entity)), Later(make))
    if isinstance(result, Raised):
        return result.kind, re.sub("0x[0-9a-f]+", "", result.text)
    return result


def _compared(uses: Uses, kept: list[Any]) -> Iterator[tuple[str, bool]]:
    limits = () if SLOTS else NEED_SLOTS.get(str(uses.distribution), ())
    for name, use in uses.uses.items():
        if name in limits:
            continue
        with geo_points_without_address():
            expected = _described(use, lambda: stock_entity(RAW))
            for maker, make in MAKERS.items():
                if bool(_alive.undecoded_count()) != bool(kept):
                    raise AssertionError(f"{_alive.undecoded_count()} properties are undecoded")
                yield f"{uses.distribution}: {name}, {maker}", _described(use, make) == expected


def main(*arguments: str) -> None:
    """Compare each use."""
    kept = [_lazy() for _ in arguments]
    warnings.simplefilter("ignore")
    compared: dict[str, bool] = {}
    with installed():
        for uses in (*(() if kept else uses_hooks.USES), *uses_iterators.USES):
            if importlib.util.find_spec(uses.requires.partition(".")[0]) is not None:
                importlib.import_module(uses.requires)
                compared |= _compared(uses, kept)
    different = [name for name, is_same in compared.items() if not is_same]
    sys.stdout.write(json.dumps([list(compared), different]))


if __name__ == "__main__":
    main(*sys.argv[1:])
