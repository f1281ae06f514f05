"""Names that are not plain strings find the same values as in a dict."""

from __future__ import annotations

import enum
import gc
import subprocess
import sys
import weakref
from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity._backend import backend
from tests.support.strategies import wire
from tests.support.strategies.samples import serialise

SMALL = serialise({"name": 7, "other": 8})
SIZES = {"small": SMALL, "large": SMALL + wire.BALLAST.encode()}
sizes = pytest.mark.parametrize("raw", SIZES.values(), ids=SIZES)


class _Text(str):
    __slots__ = ("__weakref__",)


class _AnyCase(str):
    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


class _Member(str, enum.Enum):
    NAME = "name"


class _Alike:
    """Equal to a string without being one."""

    def __eq__(self, other: object) -> bool:
        return other == "name"

    def __hash__(self) -> int:
        return hash("name")


NAMES: list[Any] = [_Text("name"), _AnyCase("NAME"), _Member.NAME, _Alike()]


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
    command = [sys.executable, "-c", _PROGRAM, *(each.hex() for each in [raw, *many])]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(backend == "native"), "False"]
