"""Containers that change while they are searched: by the code that a search runs, and by threads.

An entity that is in the container before, during and after the search is decoded, and no error
comes of the change.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from lazyentity import LazyEntity, search
from lazyentity.patches.adapters.calls import call_decoded
from lazyentity.patches.adapters.schemas import _Adapting
from lazyentity.pure.search import EntityFinder
from tests.adapters.uses import installed
from tests.support.concurrency import switching_often, together
from tests.support.strategies.samples import PLAIN

WALKS = {
    "chosen": search._chosen,
    "pure": search._finder_of(EntityFinder),
}


@pytest.fixture(params=list(WALKS.values()), ids=list(WALKS))
def walk(request: pytest.FixtureRequest) -> Any:
    return request.param


class _Entity(LazyEntity):
    """Changes its container while it is decoded."""

    change: Callable[[], None] = staticmethod(lambda: None)

    def _decode_all(self, code: str) -> None:
        change, self.change = self.change, lambda: None  # once
        change()
        super()._decode_all(code)


class _Meta(type):
    """The pure walk looks the class of each value up, by a hash that is the class's own."""

    change: Callable[[], None] = staticmethod(lambda: None)

    def __hash__(cls) -> int:
        change, _Meta.change = _Meta.change, lambda: None
        change()
        return id(cls)

    def __eq__(cls, other: object) -> bool:
        return cls is other


class _Hashed(metaclass=_Meta):
    """A value whose class runs code when it is looked up."""


@dataclasses.dataclass(eq=False)
class _Record:
    held: Any


class _Object:
    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


class _Slotted:
    __slots__ = ("a", "b", "c")


class _List(list[Any]):
    pass


class _Set(set[Any]):
    pass


class _Deque(deque[Any]):
    pass


class _Dict(dict[Any, Any]):
    pass


Change = Callable[[], None]
Make = Callable[[list[Any], list[LazyEntity]], tuple[Any, Change]]
"""Takes values that change the container when they are searched, and entities.

Returns the container, and the change, after which the entities are in the container.
"""


def _list(kind: type) -> Make:
    def make(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
        made = kind([*first, *entities])

        def change() -> None:
            del made[: len(first)]
            made.extend(range(1000))

        return made, change

    return make


def _dict(kind: type, view: Callable[[Any], Any] = lambda made: made) -> Make:
    def make(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
        made = kind()
        for number, value in enumerate([*first, *entities]):
            made[number] = value

        def change() -> None:
            for number in range(len(first)):
                del made[number]
            for number in range(1000):
                made[f"new {number}"] = number
            for number in range(1000):
                del made[f"new {number}"]
            last = len(first)
            made[last] = made.pop(last)

        return view(made), change

    return make


def _set(kind: type) -> Make:
    def make(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
        # Entities have no hash.
        made = kind([*map(_Record, first), *map(_Record, entities)])

        def change() -> None:
            made.update(range(1000))
            made.difference_update(range(1000))

        return made, change

    return make


def _deque(kind: type) -> Make:
    def make(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
        made = kind([*first, *entities])

        def change() -> None:
            made.popleft()
            made.rotate(1)

        return made, change

    return make


def _attributes(kind: Any) -> Make:
    def make(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
        made = kind(held=first)
        for number, entity in enumerate(entities):
            setattr(made, f"entity{number}", entity)

        def change() -> None:
            del made.held
            for number in range(100):
                setattr(made, f"new{number}", number)
            last = made.entity0
            del made.entity0
            made.entity0 = last

        return made, change

    return make


def _slots(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
    made: Any = _Slotted()
    made.a, made.b, made.c = first, entities, None

    def change() -> None:
        del made.a
        made.c = made.b
        del made.b

    return made, change


def _of_class(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
    kind: Any = type("Kind", (), {"first": first[0], "last": entities[0], "held": 1})
    made = kind()
    made.first, made.others = first, entities[1:]

    def change() -> None:
        for number in range(100):
            setattr(kind, f"new{number}", number)

    return made, change


def _iterator(first: list[Any], entities: list[LazyEntity]) -> tuple[Any, Change]:
    made = [*first, *entities]

    def change() -> None:
        made.extend(range(1000))

    return (value for value in made), change


CONTAINERS: dict[str, Make] = {
    "list": _list(list),
    "subclass of list": _list(_List),
    "dict": _dict(dict),
    "subclass of dict": _dict(_Dict),
    "values": _dict(dict, lambda made: made.values()),
    "items": _dict(dict, lambda made: made.items()),
    "proxy": _dict(dict, types.MappingProxyType),
    "set": _set(set),
    "subclass of set": _set(_Set),
    "deque": _deque(deque),
    "subclass of deque": _deque(_Deque),
    "record": _attributes(_Record),
    "object": _attributes(_Object),
    "slots": _slots,
    "class": _of_class,
    "generator": _iterator,
}


def _entities(count: int = 5) -> list[LazyEntity]:
    return [LazyEntity.from_bytes(PLAIN) for _ in range(count)]


def _are_decoded(entities: list[LazyEntity]) -> bool:
    return all(entity._undecoded() == [] for entity in entities)


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_decoding_changes_the_container(walk: Any, make: Make) -> None:
    """Wherever in the container the entity is that changes it."""
    for before in range(3):
        trigger: Any = _Entity.from_bytes(PLAIN)
        entities = _entities()
        made, change = make([trigger], entities[before:] + entities[:before])
        changed: list[bool] = []
        trigger.change = lambda change=change, changed=changed: (changed.append(True), change())
        walk.decode([made])
        assert changed == [True]
        assert _are_decoded(entities)


@pytest.mark.parametrize("make", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_looking_a_class_up_changes_the_container(walk: Any, make: Make) -> None:
    entities = _entities()
    made, change = make([_Hashed()], entities)
    _Meta.change = change
    try:
        walk.decode([made])
    finally:
        _Meta.change = lambda: None  # the native walk did not call it
    assert _are_decoded(entities)


def test_plain_values_that_change(walk: Any) -> None:
    made: dict[Any, Any] = {"hashed": _Hashed(), "entity": _entities()[0]}
    _Meta.change = lambda: made.update(dict.fromkeys(range(1000)))
    try:
        assert walk.is_plain(made) is False
    finally:
        _Meta.change = lambda: None  # as above


def test_arguments_that_change() -> None:
    """C code can call with a dict that others have as well."""
    trigger: Any = _Entity.from_bytes(PLAIN)
    (entity,) = _entities(1)
    keywords = {"first": trigger, "second": entity}
    trigger.change = lambda: keywords.update({f"new{number}": number for number in range(100)})
    assert call_decoded(lambda **given: sorted(given), (), keywords) == ["first", "second"]
    assert _are_decoded([trigger, entity])


def test_a_schema_that_changes() -> None:
    trigger: Any = _Entity.from_bytes(PLAIN)
    fields: dict[str, Any] = {
        "one": {"type": "default", "schema": {"type": "any"}, "default": trigger},
        "two": {"type": "function-plain", "function": {"type": "no-info", "function": print}},
    }
    trigger.change = lambda: fields.update({f"new{number}": {"type": "any"} for number in range(9)})
    adapted = _Adapting(lambda: True).adapted(fields)
    assert adapted["two"] is not fields["two"]


def test_a_tree_that_changes() -> None:
    with installed():
        root = ElementTree.Element("root")
        trigger: Any = _Entity.from_bytes(PLAIN)
        entities = _entities()
        for attributes in (trigger, *entities):
            ElementTree.SubElement(root, "child").attrib = attributes
        removed = list(root)[:1]
        trigger.change = lambda: root.remove(removed[0])
        search.decode_in_place(root)
    assert _are_decoded(entities)


def _of_thread(kind: str, entities: list[LazyEntity]) -> tuple[Any, Callable[[], None]]:
    """Return a container, and what another thread does with it over and over."""
    made: Any
    if kind == "list":
        made = [None, *entities, None]

        def change() -> None:
            made.insert(0, None)
            made.append(None)
            del made[0], made[-1]

    elif kind in ("dict", "object"):
        made = _Object() if kind == "object" else {}
        target = vars(made) if kind == "object" else made
        target.update((f"entity{number}", entity) for number, entity in enumerate(entities))

        def change() -> None:
            for number in range(20):
                target[f"new{number}"] = number
            for number in range(20):
                del target[f"new{number}"]

    elif kind == "set":
        made = set(map(_Record, entities))

        def change() -> None:
            made.update(range(100))
            made.difference_update(range(100))

    else:
        made = deque([None, *entities])

        def change() -> None:
            made.append(None)
            made.pop()

    return made, change


@pytest.mark.parametrize("kind", ["list", "dict", "object", "set", "deque"])
def test_another_thread_changes_the_container(walk: Any, kind: str) -> None:
    """Two threads, at every place where the interpreter lets them take turns."""
    rounds = 60

    def search(made: Any, change: Callable[[], None], ended: threading.Event, number: int) -> None:
        if number:
            while not ended.is_set():
                change()
            return
        try:
            walk.decode(made)
        finally:
            ended.set()

    with switching_often():
        for _ in range(rounds):
            entities = _entities(20)
            made, change = _of_thread(kind, entities)
            together(2, functools.partial(search, made, change, threading.Event()))
            assert _are_decoded(entities)


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    yield
    _Meta.change = lambda: None  # of a test that failed
