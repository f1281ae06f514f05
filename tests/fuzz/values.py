"""Values that an application may assign to a property: those that the client writes, and others."""

from __future__ import annotations

import datetime
import decimal
import enum
import random
import zoneinfo
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key

from tests.support import snapshots

Make = Callable[[random.Random], Any]

NAMES = ("a", "b", "c", "d", "e", "f", "", "ñ", "名前", "key", "text", "number", "inner", "x" * 200)
SURROGATE = "\ud800"
_UTC = datetime.timezone.utc
_EAST = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
_ZONES = (None, _UTC, _EAST, zoneinfo.ZoneInfo("Europe/Berlin"))
_DEEPEST = 60


class Text(str):
    """A subclass of str."""

    __slots__ = ()


class Number(enum.IntEnum):
    """A subclass of int."""

    ONE = 1


class Colour(str, enum.Enum):
    """A subclass of str, each with another text."""

    RED = "red"


class Bytes(bytes):
    """A subclass of bytes."""

    __slots__ = ()


class Float(float):
    """A subclass of float."""

    __slots__ = ()


class Index:
    """An object that C code can take for a number."""

    __slots__ = ()

    def __index__(self) -> int:
        return 5


class OtherKey(Key):
    """A subclass of Key."""


class Items(list[Any]):
    """A subclass of list."""

    __slots__ = ()


class Mapping(dict[Any, Any]):
    """A subclass of dict."""

    __slots__ = ()


class Unknown:
    """Nothing that the client can write."""


ODD_NAMES = (1, None, True, SURROGATE, b"name", b"\xff", Text("name"), Colour.RED)

snapshots.FOREIGN.update(
    {
        Text: str,
        Number: int,
        Colour: lambda colour: colour.value,
        Bytes: bytes,
        Float: repr,
        Index: lambda value: None,
        OtherKey: snapshots.snapshot_key,
        Items: lambda items: [snapshots.snapshot(item) for item in items],
        Unknown: lambda value: None,
        datetime.date: repr,
        datetime.timedelta: repr,
        decimal.Decimal: repr,
        bytearray: repr,
        memoryview: bytes,
        complex: repr,
        set: lambda items: sorted(map(repr, items)),
        type: repr,
    }
)
snapshots.FOREIGN.update(
    dict.fromkeys(
        (Mapping, OrderedDict, defaultdict, UserDict),
        lambda mapping: snapshots.snapshot(dict(mapping)),
    )
)

_LEAVES: tuple[Make, ...] = (
    lambda chance: None,
    lambda chance: chance.random() < 0.5,
    lambda chance: chance.choice((0, 1, -1, 2**31, 2**63 - 1, -(2**63))),
    lambda chance: chance.getrandbits(40),
    lambda chance: chance.choice((0.0, -0.0, 1.5, float("inf"), float("nan"), 5e-324)),
    lambda chance: chance.choice(("", "text", "é漢🜁", "x" * 1500, "\0", "y" * 20_000)),
    lambda chance: chance.randbytes(chance.randint(0, 4)),
    lambda chance: datetime.datetime(2024, 5, 6, 7, 8, 9, chance.randrange(10**6), tzinfo=_UTC),
    lambda chance: datetime.datetime(2024, 5, 6, 7, 8, tzinfo=chance.choice(_ZONES)),
    lambda chance: datetime.datetime(1, 1, 1, tzinfo=chance.choice((_UTC, _EAST, None))),
    lambda chance: datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=_EAST),
    lambda chance: DatetimeWithNanoseconds(2024, 1, 2, nanosecond=chance.randrange(10**9)),
    lambda chance: Key("Kind", chance.choice((1, "name")), project="p"),
    lambda chance: Key("Kind", 1, "Child", project="p", namespace="n", database="d"),
    lambda chance: GeoPoint(chance.uniform(-90, 90), chance.choice((0, 180, 1.5))),
)
_ODD: tuple[Make, ...] = (
    lambda chance: chance.choice((2**63, -(2**63) - 1, 2**64, 10**30)),
    lambda chance: chance.choice((SURROGATE, f"text {SURROGATE}", Text("words"), Text(SURROGATE))),
    lambda chance: chance.choice((Number.ONE, Colour.RED, Bytes(b"x"), Float(1.5), Index())),
    lambda chance: Unknown(),
    lambda chance: (1, "two"),
    lambda chance: {1, 2},
    lambda chance: Items([1, 2]),
    lambda chance: Mapping(a=1),
    lambda chance: chance.choice((OrderedDict(a=1), defaultdict(None, a=1), UserDict(a=1))),
    lambda chance: {chance.choice(ODD_NAMES): 1},
    lambda chance: chance.choice((bytearray(b"x"), memoryview(b"x"))),
    lambda chance: datetime.date(2024, 5, 6),
    lambda chance: datetime.timedelta(1),
    lambda chance: decimal.Decimal("1.5"),
    lambda chance: 1j,
    lambda chance: Entity,
    lambda chance: GeoPoint(*chance.choice((("x", None), (95.0, 1.0)))),
    lambda chance: Key("Kind", SURROGATE, project="p"),
    lambda chance: Key("Kind", 0, project="p"),
    lambda chance: Key("Kind", 2**63, project="p"),
    lambda chance: OtherKey("Kind", 7, project="p"),  # type: ignore[no-untyped-call]  # upstream
)


def value(chance: random.Random, entity: Make, depth: int = 3) -> Any:
    """Make a value; equal sources of chance make the like, of nothing but new objects.

    Args:
        chance: the source of all choices.
        entity: makes an entity of the side that the value is for.
        depth: the most levels of lists, dicts and entities.
    """
    pick = chance.random()
    if pick < 0.03:
        return _chain(chance, entity)
    if pick < 0.13:
        return chance.choice(_ODD)(chance)
    if pick < 0.7 or not depth:
        return chance.choice(_LEAVES)(chance)
    items = [value(chance, entity, depth - 1) for _ in range(chance.randint(0, 3))]
    if pick < 0.8:
        return items
    if pick < 0.86:
        return {chance.choice(NAMES): item for item in items}
    if pick < 0.94:
        return entity_with(chance, items)
    return entity(chance)


def entity_with(
    chance: random.Random,
    items: list[Any],
    kind: type[Entity] = Entity,
    known: Sequence[Any] = NAMES,
) -> Entity:
    """Make an entity of ``items``, some of them excluded from indexes or with a meaning.

    Args:
        chance: the source of all choices.
        items: the values.
        kind: the class of the entity.
        known: the names to choose from.
    """
    names = chance.sample(known, len(items))
    keys = (None, None, Key("Kind", 1, project="p"), Key("Kind", project="p"))
    embedded = kind(chance.choice(keys), tuple(name for name in names if chance.random() < 0.3))
    embedded.update(zip(names, items, strict=True))
    for name in names:
        if chance.random() < 0.2:
            embedded._meanings[name] = (meaning(chance, embedded[name]), embedded[name])
    return embedded


def meaning(chance: random.Random, value: Any) -> Any:
    """Make a meaning of ``value``: one that fits it, mostly."""
    single: Any = chance.choice((9, 15, 20, 0, -1, 2**31 - 1, 2**31, "nine"))
    if isinstance(value, list) and chance.random() < 0.8:
        single = (chance.choice((None, 14)), [chance.choice((None, 15)) for _ in value])
    return single


def _chain(chance: random.Random, entity: Make) -> Any:
    """Make a document of many levels, with anything in its last."""
    levels = chance.choice((5, 12, 20, 25, 30, 34, 40, 45, 49, _DEEPEST))
    made = value(chance, entity, 0)
    kinds = chance.choice(((0,), (1,), (2,), (0, 1, 2)))
    for _ in range(levels):
        match chance.choice(kinds):
            case 0:
                embedded = Entity()
                embedded["a"] = made
                made = embedded
            case 1:
                made = {"a": made}
            case _:
                made = [made]
    return made
