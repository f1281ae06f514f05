"""Objects that keep no promise: for calls into native code, which must survive all of them."""

from __future__ import annotations

import datetime
import gc
import random
import weakref
from collections.abc import Callable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity.codec.undecoded import UNDECODED
from tests.fuzz import material
from tests.fuzz.values import SURROGATE


class Evil:
    """The side effects of the methods of hostile objects: any change to a pool.

    Attributes:
        pool: the objects of the case.
        chance: where choices come from.
    """

    pool: list[Any]
    chance: random.Random
    _left: int

    @classmethod
    def start(cls, pool: list[Any], chance: random.Random) -> None:
        """Start a case."""
        cls.pool, cls.chance = pool, chance
        # The methods call each other.
        cls._left = 50

    @classmethod
    def act(cls) -> Any:
        """Change an object of the pool, and return any object or raise."""
        if cls._left <= 0 or not cls.pool:
            return None
        cls._left -= 1
        victim = cls.chance.choice(cls.pool)
        match cls.chance.randrange(10):
            case 0:
                raise RuntimeError("hostile")
            case 1:
                gc.collect(0)
            case 2 if isinstance(victim, dict):
                dict.clear(victim)
            case 3 if isinstance(victim, dict):
                victim.popitem()
            case 4 if isinstance(victim, dict):
                victim[f"new {cls._left}"] = UNDECODED if cls._left % 2 else 1
            case 5 if isinstance(victim, dict):
                list(victim.values())
            case 6 if isinstance(victim, list):
                victim.clear()
            case 7:
                cls.pool.remove(victim)
            case 8:
                return victim
        return cls.chance.choice((None, 0, 1, -1, True, "a", b"", 2**70, ()))


def _act(self: Any, *args: Any, **kwargs: Any) -> Any:
    return Evil.act()


_METHODS = (
    *("__len__", "__iter__", "__next__", "__contains__", "__getitem__", "__setitem__", "__index__"),
    *("__int__", "__float__", "__bool__", "__repr__", "__str__", "__bytes__", "__call__", "__or__"),
    *("__ror__", "__lt__", "__reduce_ex__", "__enter__", "keys", "items", "values", "get", "copy"),
    *("SerializeToString", "MergeFromString", "to_protobuf", "utcoffset", "dst", "toordinal"),
)


def _eq(self: Any, other: object) -> Any:
    return Evil.act()


def _hash(self: Any) -> int:
    Evil.act()
    return hash("a")


def _hostile(base: type, *names: str) -> type:
    namespace: dict[str, Any] = dict.fromkeys(names, _act)
    namespace |= {"__eq__": _eq, "__hash__": _hash}
    return type(f"Hostile{base.__name__.title()}", (base,), namespace)


_KEYS_OF_DICT = ("__getitem__", "__contains__", "__len__", "__iter__", "keys", "items", "values")
HostileObject: Any = _hostile(object, *_METHODS)
HostileText: Any = _hostile(str)
HostileNumber: Any = _hostile(int, "__index__", "__int__", "__bool__")
HostileBytes: Any = _hostile(bytes, "__len__", "__getitem__")
HostileDict: Any = _hostile(dict, *_KEYS_OF_DICT, "get")
HostileList: Any = _hostile(list, "__len__", "__iter__", "__getitem__")
HostileSet: Any = _hostile(set, "__contains__", "__iter__", "__len__")
HostileKey: Any = _hostile(Key, "to_protobuf", "is_partial")
HostileEntity: Any = _hostile(Entity, *_KEYS_OF_DICT)
HostileZone: Any = _hostile(datetime.tzinfo, "utcoffset", "dst", "tzname", "fromutc")


class HostileAttributes:
    """Each attribute is an object of another type."""

    def __getattr__(self, name: str) -> Any:
        return Evil.act()


class HostileClass:
    """Says that it is of any class."""

    @property
    def __class__(self) -> Any:
        return Evil.chance.choice((dict, list, str, Entity, Key, type(Evil.act())))

    @__class__.setter
    def __class__(self, value: Any) -> None:
        Evil.act()


def _recursive() -> list[Any]:
    outer: list[Any] = [1]
    outer.append({"a": outer})
    return outer


def _recursive_dict() -> dict[str, Any]:
    outer: dict[str, Any] = {}
    outer["a"] = [outer]
    return outer


def _recursive_entity() -> Entity:
    entity = Entity()
    entity["a"] = entity
    entity._meanings = {"a": (9, entity)}
    return entity


def _dead() -> Any:
    class Short:
        pass

    return weakref.proxy(Short())


def _key_of(fields: dict[str, Any]) -> Key:
    key = Key("Kind", 1, project="p")
    vars(key).update(fields)
    return key


VALUES: tuple[Callable[[random.Random], Any], ...] = (
    lambda chance: None,
    lambda chance: chance.choice((0, 1, -1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**40, True)),
    lambda chance: chance.choice((0.0, float("nan"), 1e308)),
    lambda chance: chance.choice(("", "a", "text", "x" * 3000, SURROGATE, "\0", "名前")),
    lambda chance: chance.randbytes(chance.choice((0, 1, 8, 300))),
    lambda chance: chance.choice(material.entities()),
    lambda chance: material.changed(chance.choice(material.entities()), chance, 2),
    lambda chance: chance.choice(material.with_varint_forms()),
    lambda chance: bytearray(chance.choice(material.entities())),
    lambda chance: memoryview(chance.choice(material.entities())),
    lambda chance: chance.choice(([], ["a"], ("a", "b"), [b"\n\x01a\x12"], {"a"}, frozenset("ab"))),
    lambda chance: [b"\n\x01a\x12", b"\n\x01b\x12"] * chance.choice((1, 10)),
    lambda chance: chance.choice(({}, {"a": 1}, {"a": UNDECODED}, {1: 2}, {"text": [UNDECODED]})),
    lambda chance: {HostileText("a"): HostileObject(), "b": HostileList([1, 2])},
    lambda chance: _recursive(),
    lambda chance: _recursive_dict(),
    lambda chance: _recursive_entity(),
    lambda chance: _dead(),
    lambda chance: UNDECODED,
    lambda chance: HostileObject(),
    lambda chance: HostileText(chance.choice(("a", "text", ""))),
    lambda chance: HostileNumber(chance.choice((0, 5, 2**70))),
    lambda chance: HostileBytes(chance.choice(material.entities())),
    lambda chance: HostileDict(a=1, text=2),
    lambda chance: HostileList(("a", HostileText("a"))),
    lambda chance: HostileSet(("a", 5)),
    lambda chance: HostileKey("Kind", 1, project="p"),
    lambda chance: HostileEntity(),
    lambda chance: HostileAttributes(),
    lambda chance: HostileClass(),
    lambda chance: Key("Kind", chance.choice((1, "name", SURROGATE)), project="p"),
    lambda chance: _key_of({"_path": chance.choice((None, [], [{}], [{"kind": 1}], [[]], "p"))}),
    lambda chance: _key_of({"_path": [HostileDict(kind="k", id=1)] * chance.choice((1, 500))}),
    lambda chance: _key_of({"_project": chance.choice((None, SURROGATE, "p" * 5000, 5))}),
    lambda chance: _key_of({"_path": [{"kind": "k" * 90, HostileText("id"): 2**63}] * 30}),
    lambda chance: datetime.datetime(2024, 1, 2, tzinfo=HostileZone()),
    lambda chance: DatetimeWithNanoseconds(1, 1, 1, nanosecond=999),
    lambda chance: GeoPoint(chance.choice((None, "x", 1.0)), 2.0),
    lambda chance: chance.choice((int, dict, type, Entity, HostileObject, HostileDict, object)),
    lambda chance: chance.choice((len, iter, repr, lambda *_, **__: Evil.act(), vars, dict)),
    lambda chance: (item for item in ("a", HostileText("b"), 5)),
    lambda chance: chance.choice(Evil.pool) if Evil.pool else None,
    lambda chance: chance.choice(Evil.pool) if Evil.pool else None,
    lambda chance: chance.choice(Evil.pool) if Evil.pool else None,
)


def value(chance: random.Random) -> Any:
    """Make or choose an argument."""
    return chance.choice(VALUES)(chance)
