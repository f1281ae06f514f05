"""Which operation decodes which property, by names of any kind, and which decodes nothing."""

from __future__ import annotations

import enum
import gc
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import lazyentity
from lazyentity import LazyEntity
from lazyentity._backend import backend
from tests.support import hostile, subprocesses
from tests.support.snapshots import snapshot_key
from tests.support.strategies import wire
from tests.support.strategies.samples import PLAIN, RICH, serialise

# The steps of tests/fuzz check the methods of dict.
NOTHING: dict[str, Callable[[Any], object]] = {
    "keys": lambda e: e.keys() & {"text"},
    "hasattr": lambda e: hasattr(e, "missing"),
    "isinstance": lambda e: isinstance(e, dict),
    "raw": lazyentity.raw,
    "decoded": lazyentity.decoded,
    "prefetch of nothing": lazyentity.prefetch,
    "comparison with another key": lambda e: e == lazyentity.LazyEntity(),
    "comparison with no mapping": lambda e: e == 1,
}


@pytest.mark.parametrize("operation", NOTHING.values(), ids=NOTHING.keys())
def test_decodes_nothing(lazy_type: type[LazyEntity], operation: Callable[[Any], object]) -> None:
    """Operations that need no values decode nothing."""
    lazy = lazy_type.from_bytes(PLAIN)
    operation(lazy)
    assert lazyentity.decoded(lazy) == ()


def test_meanings_decode_what_has_one(lazy_type: type[LazyEntity]) -> None:
    """The values that the client compares by identity are decoded, and no others."""
    lazy = lazy_type.from_bytes(PLAIN)
    assert lazy._meanings == {"number": (9, 42)}
    assert lazyentity.decoded(lazy) == ("number",)
    assert lazy._meanings["number"][1] is lazy["number"]


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_meanings_hold_the_value_that_was_read(lazy_type: type[LazyEntity], before: bool) -> None:
    """The value beside a meaning is the property's object, with either read first."""
    raw = serialise({"list": [1, 2]}, meanings={"list": (9, [None, 15])})
    lazy = lazy_type.from_bytes(raw)
    value = lazy["list"] if before else lazy._meanings["list"][1]
    assert lazy["list"] is value
    assert lazy._meanings["list"][1] is value


def test_embedded_entities_are_lazy(lazy_type: type[LazyEntity]) -> None:
    """Embedded entities, in arrays too, decode their properties one by one as well."""
    lazy = lazy_type.from_bytes(RICH)
    for inner in (lazy["inner"], *lazy["inners"]):
        assert type(inner) is lazy_type
        assert lazyentity.decoded(inner) == ()
        assert snapshot_key(inner.key) is None
        assert inner.exclude_from_indexes == {"deep"}
        assert lazyentity.decoded(inner) == ()
        assert inner["deep"] == [b"bytes", None]


def test_reading_all_leaves_embedded_entities_lazy(lazy_type: type[LazyEntity]) -> None:
    """The views decode their values, but nothing inside these."""
    lazy = lazy_type.from_bytes(RICH)
    inner = dict(lazy.items())["inner"]
    assert lazyentity.decoded(lazy) == tuple(lazy)
    assert lazyentity.decoded(inner) == ()


SMALL = serialise({"name": 7, "other": 8})
SIZES = {"small": SMALL, "large": SMALL + wire.BALLAST.encode()}
sizes = pytest.mark.parametrize("raw", SIZES.values(), ids=SIZES)


class _Text(str):
    __slots__ = ("__weakref__",)


class _Member(str, enum.Enum):
    NAME = "name"


class _Alike:
    """Equal to a string without being one."""

    def __eq__(self, other: object) -> bool:
        return other == "name"

    def __hash__(self) -> int:
        return hash("name")


NAMES: list[Any] = [_Text("name"), hostile.AnyCase("NAME"), _Member.NAME, _Alike()]


@sizes
@pytest.mark.parametrize("name", NAMES, ids=lambda name: type(name).__name__)
def test_equal_names(lazy_type: type[LazyEntity], raw: bytes, name: Any) -> None:
    """An object that equals a name and has its hash finds the property in every way of reading."""
    for read in (LazyEntity.__getitem__, LazyEntity.get, LazyEntity.setdefault, LazyEntity.pop):
        entity: Any = lazy_type.from_bytes(raw)
        assert getattr(entity, read.__name__)(name) == 7
    entity = lazy_type.from_bytes(raw)
    assert entity[name] == 7
    assert list(map(type, entity)) == [str, str]


@sizes
def test_names_are_not_kept(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """The object used as a name can be freed."""
    name = _Text("name")
    gone = weakref.ref(name)
    entity: Any = lazy_type.from_bytes(raw)
    assert entity[name] == 7
    del entity, name
    gc.collect()
    assert gone() is None


_PROGRAM = """
import sys
from lazyentity import LazyEntity
raw = bytes.fromhex(sys.argv[1])
entities = [LazyEntity.from_bytes(raw) for _ in range(3)]
(name,) = entities[-1]
print(name is sys.intern("_".join(("found", "by", "identity"))))
many = [bytes.fromhex(raw) for raw in sys.argv[2:]]
for raw in many:
    found = [next(iter(LazyEntity.from_bytes(raw))) for _ in range(3)][-1]
print(found is sys.intern("".join(list(found))))
"""


def test_names_of_learned_shapes_are_found_by_identity() -> None:
    """They are the strings of source code. A program that reads ever new names keeps a few."""
    raw = serialise({"found_by_identity": 1})
    many = [serialise({f"name {number} {at}": 1 for at in range(700)}) for number in range(6)]
    ran = subprocesses.run("-c", _PROGRAM, *(each.hex() for each in [raw, *many]))
    assert ran.stdout.split() == [str(backend == "native"), "False"]
