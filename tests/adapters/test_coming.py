"""Entities that hooks and iterators make during a call: nothing is lost while none was alive."""

from __future__ import annotations

import importlib
import json
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lazyentity import LazyEntity, _alive
from lazyentity._inplace import SLOTS
from tests.adapters import uses_hooks, uses_iterators
from tests.adapters.uses import Uses, installed
from tests.adapters.uses_hooks import Later
from tests.entity.consumption import describe
from tests.support.forks import answer
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


def _same(uses: Uses, kept: list[Any]) -> Iterator[tuple[str, bool]]:
    for name, use in uses.possible().items():
        with geo_points_without_address():
            expected = _described(use, lambda: stock_entity(RAW))
            for maker, make in MAKERS.items():
                if bool(_alive.undecoded_count()) != bool(kept):
                    raise AssertionError(f"{_alive.undecoded_count()} properties are undecoded")
                yield f"{uses.distribution}: {name}, {maker}", _described(use, make) == expected


def main(*kept: Any) -> None:
    """Print the names of the uses, and of those whose result is not that of a stock entity.

    Before a call, only entities that are ``kept`` have undecoded properties in this process.
    With one of these, only the uses of iterators are compared.
    """
    warnings.simplefilter("ignore")
    compared: dict[str, bool] = {}
    with installed():
        for uses in (*(() if kept else uses_hooks.USES), *uses_iterators.USES):
            if uses.is_installed():
                importlib.import_module(uses.requires())
                compared |= _same(uses, [*kept])
    different = [name for name, is_same in compared.items() if not is_same]
    sys.stdout.write(json.dumps([list(compared), different]))


def _compared(kept: str = "") -> tuple[list[str], list[str]]:
    program = f"from tests.adapters import test_coming as own; own.main({kept})"
    names, different = answer("-c", program, warnings="ignore")
    return names, different


def test_entities_that_come_during_a_call() -> None:
    """With every library that has a hook, or takes the items of iterators; stock is the oracle."""
    names, different = _compared()
    assert len(names) > 300
    # The pure backend cannot decode the items of iterators inside of the arguments.
    assert different == ([] if SLOTS else _compared("own._lazy()")[1])


@pytest.mark.parametrize("call", ["ujson.dumps(Value())", "msgspec.json.encode(time)"])
def test_hooks_that_fail(call: str) -> None:
    """They make the first entity, after an import, and their error is that of the call."""
    library = call.partition(".")[0]
    pytest.importorskip(library)
    program = _FAILING.format(library=library, call=call)
    assert answer("-c", program, warnings="ignore") == "KeyError"


_FAILING = """
import datetime, json, sys, types
import {library}
from lazyentity import LazyEntity
from lazyentity.patches import adapters
from tests.support.strategies.samples import PLAIN

adapters.install()
kept = []

def fail(*_):
    sys.modules["later"] = types.ModuleType("later")
    kept.append(LazyEntity.from_bytes(PLAIN))
    raise KeyError

Value = type("Value", (), {{"__json__": fail}})
Zone = type("Zone", (datetime.tzinfo,), {{"utcoffset": fail}})
time = datetime.datetime(2026, 1, 1, tzinfo=Zone())
try:
    {call}
except BaseException as error:
    print(json.dumps(type(error).__name__))
"""
