"""Entities that hooks and iterators make during a call: nothing is lost while none was alive."""

from __future__ import annotations

import pytest

from lazyentity._inplace import SLOTS
from tests.support.forks import answer


def _compared(*arguments: str) -> tuple[list[str], list[str]]:
    program = ("-m", "tests.adapters.coming_program", *arguments)
    names, different = answer(*program, warnings="ignore")
    return names, different


def test_entities_that_come_during_a_call() -> None:
    """With every library that has a hook, or takes the items of iterators; stock is the oracle."""
    names, different = _compared()
    assert len(names) > 300
    # The pure backend cannot decode the items of iterators inside of the arguments.
    assert different == ([] if SLOTS else _compared("kept")[1])


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
