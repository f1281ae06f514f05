"""The sentinel in storage cannot be used as a value."""

from __future__ import annotations

import copy
import json
import math
import operator
import pickle
from collections.abc import Callable
from typing import Any

import orjson
import pytest

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from tests.support.strategies.samples import PLAIN

REFUSED: dict[str, Callable[[Any], object]] = {
    "str": str,
    "format": lambda value: f"{value}",
    "%s": lambda value: "%s" % value,  # noqa: UP031  # this way of formatting is tested
    "bytes": bytes,
    "bool": bool,
    "not": operator.not_,
    "int": int,
    "float": float,
    "index": operator.index,
    "round": round,
    "len": len,
    "iter": iter,
    "list": list,
    "hash": hash,
    "in a set": lambda value: {value},
    "==": lambda value: value == 1,
    "== reflected": lambda value: 1 == value,  # noqa: SIM300  # this order is tested
    "== itself": lambda value: value == value,  # that it is refused is tested
    "!=": lambda value: value != 1,
    "<": lambda value: value < 1,
    "sorted": lambda value: sorted([1, value]),
    "+": lambda value: value + 1,
    "[]": lambda value: value["name"],
    "call": lambda value: value(),
    "attribute set": lambda value: setattr(value, "name", 1),
    "isnan": math.isnan,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": pickle.dumps,
    "json": json.dumps,
    "orjson": orjson.dumps,
}


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED.keys())
def test_refuses(operation: Callable[[Any], object]) -> None:
    """Every use by C code raises."""
    with pytest.raises((TypeError, AttributeError)):
        operation(UNDECODED)


def test_says_what_to_do() -> None:
    """The error tells the way out, and so does repr(), which others put into theirs."""
    with pytest.raises(TypeError, match=r"lazyentity\.materialize\(entity\)"):
        str(UNDECODED)
    assert "lazyentity.materialize(entity)" in repr(UNDECODED)
    with pytest.raises(ValueError, match=r"lazyentity\.materialize\(entity\)"):
        raise ValueError(f"not valid: {UNDECODED!r}")


class _Object:
    pass


def _instance_dictionary(entity: Any) -> Any:
    thing = _Object()
    thing.__dict__ = entity
    return thing.text  # type: ignore[attr-defined]  # looked up in the entity


BYPASSES: dict[str, Callable[[Any], Any]] = {
    "dict.__getitem__": lambda e: dict.__getitem__(e, "text"),
    "dict.get": lambda e: dict.get(e, "text"),
    "dict.setdefault": lambda e: dict.setdefault(e, "text", None),
    "dict.pop": lambda e: dict.pop(e, "text"),
    "dict.items": lambda e: dict(dict.items(e))["text"],
    "dict.values": lambda e: next(iter(dict.values(e))),
    "globals of eval": lambda e: eval("text", e, {}),  # noqa: S307  # the test's own expression
    "instance dictionary": _instance_dictionary,
}


@pytest.mark.parametrize("bypass", BYPASSES.values(), ids=BYPASSES.keys())
def test_what_reads_storage_gets_the_sentinel(
    lazy_type: type[LazyEntity], bypass: Callable[[Any], Any]
) -> None:
    """A reader past the interface gets the sentinel, never None or another value that would do."""
    assert bypass(lazy_type.from_bytes(PLAIN)) is UNDECODED
    assert bypass(lazyentity.materialize(lazy_type.from_bytes(PLAIN))) is not UNDECODED
