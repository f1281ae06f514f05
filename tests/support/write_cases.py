"""Entities that change while they are written: by code that encoding one of their values runs.

A case is data, so that a lazy and a stock entity can be made of it that do the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from hypothesis import strategies as st

from tests.support.changing import acting
from tests.support.snapshots import Raised
from tests.support.stock import EntityMessage
from tests.support.strategies.samples import serialise

NAMES = ("a", "b", "c", "d", "e", "f", "g")
RECEIVED = NAMES[:5]
"""The properties of :data:`RAW`."""

UNREAD = 3
RAW = serialise({name: number for number, name in enumerate(RECEIVED)}, excluded=("b", "d"))

CONTAINERS = ("entity", "lazy", "embedded", "dict", "dict subclass", "list", "list subclass")
TRIGGERS = ("zone", "key", "in a list", "in a dict", "in an entity", "length", "iteration", "items")
VALUES = ("number", "text", "list", "empty", "dict", "entity", "none")
CHANGES = (
    *("set", "add", "pop", "reset", "churn", "clear", "reverse", "fill"),
    *("exclude", "include", "flags", "odd flags", "mean", "meanings", "odd meanings", "odd name"),
)

_REBUILDING = frozenset(("churn", "reverse", "clear", "fill"))
_ADDING = ("add", "reset", "odd name")
_CLOSING_GAPS = frozenset(("pop", "reset", "odd name"))
_SPARE = 3  # entries that are free in the storage of a dict of so many names, in every CPython

Change = tuple[str, int]


@dataclass(frozen=True)
class Case:
    """An entity that changes while it is written.

    Attributes:
        container: the kind of what changes: the entity that is written, or a value of it.
        trigger: the kind of the value whose encoding runs the changes.
        place: the position of that value.
        values: the kinds of the other values.
        changes: each with a number that chooses a name or a value.
        times: how often the changes are made, at most.
    """

    container: str
    trigger: str
    place: int
    values: tuple[str, ...]
    changes: tuple[Change, ...]
    times: int

    @property
    def rebuilds(self) -> bool:
        """Whether CPython may lay out the storage of a changing entity anew.

        Its iterator then gives some properties twice and others never, without an error. The client
        adds the items of a list that it meets twice to those that it wrote before.

        Where all names were exact strings, the first one that is none closes the gaps that removed
        names left (CPython 3.11 and later). So a moved name comes again, if another one made room.
        """
        kinds = [change for change, _ in self.changes]
        added = sum(map(kinds.count, _ADDING)) * self.times
        return self.container in ("entity", "embedded", "lazy") and (
            added > _SPARE or _CLOSING_GAPS.issubset(kinds) or not _REBUILDING.isdisjoint(kinds)
        )

    def compare(self, written: Any, expected: Any) -> None:
        """Compare what was written with what the client writes of the stock counterpart.

        Args:
            written: the serialised entity, or the error.
            expected: that of the client.

        Raises:
            AssertionError: they differ.
        """
        if not self.rebuilds:
            assert _shown(written) == _shown(expected)
        elif isinstance(expected, Raised):
            # A received property that the client comes to a second time is written only once.
            assert written == expected or self.container == "lazy"
        else:
            assert not isinstance(written, Raised), written
            kept, wanted = _values(written), _values(expected)
            assert kept.keys() >= wanted.keys()
            if self.container != "lazy":
                assert kept == wanted

    def pair(self, lazy_type: type[Any]) -> tuple[Entity, Entity]:
        """Make the entity to write, and its stock counterpart.

        Args:
            lazy_type: the class of a received entity, which is written for the container "lazy".
                Its first properties are not read: they are written as if the client came to them
                first.
        """
        lazy = lazy_type.from_bytes(RAW)
        # The counterpart has the same order. In the process of a test it is any.
        received = {name: RECEIVED.index(name) for name in lazy}
        stock: Any = Entity(Key("Kind", "name", project="p"))
        if self.container == "lazy":
            stock.exclude_from_indexes = {"b", "d"}
            stock.update(received)
        else:
            lazy = Entity(Key("Kind", "name", project="p"))
        names = [*received, *NAMES[len(received) :]]
        return _Made(self, lazy, names).outer, _Made(self, stock, names).outer


CASES = st.builds(
    Case,
    container=st.sampled_from(CONTAINERS),
    trigger=st.sampled_from(TRIGGERS),
    place=st.integers(0, 6),
    values=st.tuples(*[st.sampled_from(VALUES)] * 7),
    changes=st.lists(
        st.tuples(st.sampled_from(CHANGES), st.integers(0, 9)), min_size=1, max_size=6
    ).map(tuple),
    times=st.integers(1, 4),
)


class _Key(Key):
    run: Callable[[], None]

    def to_protobuf(self) -> Any:
        self.run()
        return super().to_protobuf()  # type: ignore[no-untyped-call]  # upstream is untyped


class _List(list[Any]):
    run: Callable[[], None]


class _Measured(_List):
    def __len__(self) -> int:
        self.run()
        return super().__len__()


class _Iterated(_List):
    def __iter__(self) -> Any:
        for item in list.__iter__(self):
            self.run()
            yield item


class _Entity(Entity):
    run: Callable[[], None]

    def items(self) -> Any:
        for item in super().items():
            self.run()
            yield item


class _Dict(dict[Any, Any]):
    pass


class _Made:
    """An entity made of a case."""

    def __init__(self, case: Case, outer: Any, names: list[str]) -> None:
        self.case = case
        self.times = case.times
        self.outer = outer
        if case.container == "lazy":
            # One of the others is decoded, and not assigned.
            names = [*names[UNREAD + 1 :], names[UNREAD]]
            outer[names[-1]]
        self.changing = self._changing()
        if isinstance(self.changing, list):
            self.changing.extend(self._value(name) for name in names)
            self.changing[case.place % len(names)] = self._trigger()
        else:
            for name in names[:-1] if case.container == "lazy" else names:
                self.changing[name] = self._value(name)
            self.changing[names[case.place % len(names)]] = self._trigger()

    def _changing(self) -> Any:
        made: Any
        match self.case.container:
            case "entity" | "lazy":
                return self.outer
            case "embedded":
                made = Entity(exclude_from_indexes=("c",))
            case "dict":
                made = {}
            case "dict subclass":
                made = _Dict()
            case "list":
                made = []
            case _:
                made = _List()
        self.outer["before"] = 1
        self.outer["changing"] = made
        self.outer["after"] = 2
        return made

    def _value(self, name: str) -> Any:
        kinds = self.case.values
        return _value(kinds[NAMES.index(name) % len(kinds)], NAMES.index(name))

    def _trigger(self) -> Any:
        zoned = acting(self._run)
        made: Any
        match self.case.trigger:
            case "zone":
                return zoned
            case "key":
                made = _Key("Kind", 5, project="p")  # type: ignore[no-untyped-call]  # upstream is untyped
            case "in a list":
                return [1, zoned, "x"]
            case "in a dict":
                return {"first": 1, "zoned": zoned, "last": [2]}
            case "in an entity":
                made = Entity(exclude_from_indexes=("zoned",))
                made.update(first=1, zoned=zoned, last=[2])
                return made
            case "length":
                made = _Measured((1, 2))
            case "iteration":
                made = _Iterated((1, 2))
            case _:
                made = _Entity()  # type: ignore[no-untyped-call]  # upstream is untyped
                made.update(first=1, last=[2])
        made.run = self._run
        return made

    def _run(self) -> None:
        if self.times:
            self.times -= 1
            for change, number in self.case.changes:
                self._change(change, number)

    def _change(self, change: str, number: int) -> None:
        if isinstance(self.changing, list):
            _change_list(self.changing, change, number)
        elif isinstance(self.changing, Entity) and change in _OF_ATTRIBUTES:
            _OF_ATTRIBUTES[change](self.changing, NAMES[number % len(NAMES)])
        else:
            _change_dict(self.changing, change, number)


def _value(kind: str, number: int) -> Any:
    made: Any
    match kind:
        case "number":
            return number
        case "text":
            return str(number)
        case "list":
            return [number, "x"]
        case "empty":
            return []
        case "dict":
            return {"in": number, "list": [number]}
        case "entity":
            made = Entity(exclude_from_indexes=("in",))
            made["in"] = number
            return made
        case _:
            return None


def _change_list(items: list[Any], change: str, number: int) -> None:
    match change:
        case "set" if items:
            items[number % len(items)] = "new"
        case "pop" if items:
            items.pop(number % len(items))
        case "clear":
            items.clear()
        case "reverse":
            items.reverse()
        case "add":
            # Else the list would grow while it is walked, without an end.
            if len(items) < 2 * len(NAMES):
                items.append(number)


def _change_dict(mapping: dict[Any, Any], change: str, number: int) -> None:
    name = NAMES[number % len(NAMES)]
    match change:
        case "set" if name in mapping:
            mapping[name] = _value(VALUES[number % len(VALUES)], number)
        case "add":
            mapping[f"new {number}"] = number
        case "pop":
            mapping.pop(name, None)
        case "odd name":
            mapping[b"bytes"] = number
        case "reset" if name in mapping:
            mapping[name] = mapping.pop(name)
        case "churn" if name in mapping:
            for _ in range(20):
                mapping[name] = mapping.pop(name)
        case "clear":
            mapping.clear()
        case "reverse":
            items = list(mapping.items())
            mapping.clear()
            mapping.update(reversed(items))
        case "fill":
            for count in range(40):
                mapping[f"filled {count}"] = count
            for count in range(40):
                del mapping[f"filled {count}"]


def _set(attribute: str, value: Any) -> Callable[[Any, str], None]:
    return lambda entity, name: setattr(entity, attribute, value(entity, name))


_OF_ATTRIBUTES: dict[str, Callable[[Any, str], Any]] = {
    "exclude": lambda entity, name: (
        entity.exclude_from_indexes.add(name)
        if isinstance(entity.exclude_from_indexes, set)
        else None
    ),
    "include": lambda entity, name: (
        entity.exclude_from_indexes.discard(name)
        if isinstance(entity.exclude_from_indexes, set)
        else None
    ),
    "flags": _set("exclude_from_indexes", lambda entity, name: {name, *NAMES[::2]}),
    "odd flags": _set("exclude_from_indexes", lambda entity, name: {name: 1}),
    "mean": lambda entity, name: entity._meanings.update({name: (15, entity.get(name))}),
    "meanings": _set("_meanings", lambda entity, name: {name: (14, entity.get(name))}),
    "odd meanings": _set("_meanings", lambda entity, name: None),
}


def _shown(written: Any) -> Any:
    return written if isinstance(written, Raised) else str(EntityMessage.FromString(written))


def _values(written: bytes) -> dict[str, str]:
    """Return the values of properties, embedded ones too, but no items of lists and no flags."""
    message = EntityMessage.FromString(written)
    shown = {}
    for entity in (message, message.properties["changing"].entity_value):
        for name, value in entity.properties.items():
            case = value.WhichOneof("value_type")
            is_part = case == "array_value" or name == "changing"
            shown[name] = case if is_part else str(getattr(value, case or "meaning"))
    return shown
