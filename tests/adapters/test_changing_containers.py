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
from itertools import chain
from typing import Any, NamedTuple
from xml.etree import ElementTree

import pytest

from lazyentity import LazyEntity, search
from lazyentity.patches.adapters.calls import call_decoded
from tests.adapters.uses import Holds, installed
from tests.support.concurrency import switching_often, together
from tests.support.strategies.samples import PLAIN


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


class _Slotted:
    __slots__ = ("a", "b", "c")

    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b, self.c = a, b, None


def _subclass(kind: Any) -> Any:
    return type(f"Own{kind.__name__}", (kind,), {})


class Container(NamedTuple):
    """A container with values that change it when they are searched, and with entities.

    Attributes:
        make: takes lists of these values and of the entities.
        change: after it the entities are in the container as before; it takes the container, and
            the number of the values.
        view: what is searched of the container.
    """

    make: Callable[[list[Any], list[LazyEntity]], Any]
    change: Callable[[Any, int], None]
    view: Callable[[Any], Any] = lambda made: made


def _change_list(made: Any, count: int) -> None:
    del made[:count]
    made.extend(range(1000))


def _change_dict(made: Any, count: int) -> None:
    for number in range(count):
        del made[number]
    for number in range(1000):
        made[f"new {number}"] = number
    for number in range(1000):
        del made[f"new {number}"]
    made[count] = made.pop(count)


def _change_set(made: Any, _: int) -> None:
    made.update(range(1000))
    made.difference_update(range(1000))


def _change_deque(made: Any, _: int) -> None:
    made.popleft()
    made.rotate(1)


def _change_attributes(made: Any, _: int) -> None:
    del made.held
    for number in range(100):
        setattr(made, f"new{number}", number)
    last = made.entity0
    del made.entity0
    made.entity0 = last


def _change_slots(made: Any, _: int) -> None:
    del made.a
    made.c = made.b
    del made.b


def _change_class(made: Any, _: int) -> None:
    for number in range(100):
        setattr(type(made), f"new{number}", number)


def _list(kind: Any) -> Container:
    return Container(lambda first, entities: kind([*first, *entities]), _change_list)


def _dict(kind: Any, view: Callable[[Any], Any] = lambda made: made) -> Container:
    return Container(lambda *values: kind(enumerate(chain(*values))), _change_dict, view)


def _set(kind: Any) -> Container:
    # Entities have no hash.
    return Container(lambda *values: kind(map(_Record, chain(*values))), _change_set)


def _deque(kind: Any) -> Container:
    return Container(lambda first, entities: kind([*first, *entities]), _change_deque)


def _named(entities: list[LazyEntity]) -> dict[str, Any]:
    return {f"entity{number}": entity for number, entity in enumerate(entities)}


def _record(first: list[Any], entities: list[LazyEntity]) -> Any:
    made = _Record(first)
    vars(made).update(_named(entities))
    return made


def _of_class(first: list[Any], entities: list[LazyEntity]) -> Any:
    made = type("Kind", (Holds,), {"first": first[0], "last": entities[0], "held": 1})
    return made(first=first, others=entities[1:])


CONTAINERS = {
    "list": _list(list),
    "subclass of list": _list(_subclass(list)),
    "dict": _dict(dict),
    "subclass of dict": _dict(_subclass(dict)),
    "values": _dict(dict, dict.values),
    "items": _dict(dict, dict.items),
    "proxy": _dict(dict, types.MappingProxyType),
    "set": _set(set),
    "subclass of set": _set(_subclass(set)),
    "deque": _deque(deque),
    "subclass of deque": _deque(_subclass(deque)),
    "record": Container(_record, _change_attributes),
    "object": Container(
        lambda first, entities: Holds(held=first, **_named(entities)), _change_attributes
    ),
    "slots": Container(_Slotted, _change_slots),
    "class": Container(_of_class, _change_class),
    "generator": Container(
        lambda first, entities: [*first, *entities],
        lambda made, _: made.extend(range(1000)),
        lambda made: (value for value in made),
    ),
}


def _entities(count: int = 5) -> list[LazyEntity]:
    return [LazyEntity.from_bytes(PLAIN) for _ in range(count)]


def _are_decoded(entities: list[LazyEntity]) -> bool:
    return all(entity._undecoded() == [] for entity in entities)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_decoding_changes_the_container(walk: Any, container: Container) -> None:
    """Wherever in the container the entity is that changes it."""
    for before in range(3):
        trigger: Any = _Entity.from_bytes(PLAIN)
        entities = _entities()
        made = container.make([trigger], entities[before:] + entities[:before])
        change = functools.partial(container.change, made, 1)
        changed: list[bool] = []
        trigger.change = lambda change=change, changed=changed: (changed.append(True), change())
        walk.decode([container.view(made)])
        assert changed == [True]
        assert _are_decoded(entities)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_looking_a_class_up_changes_the_container(walk: Any, container: Container) -> None:
    entities = _entities()
    made = container.make([_Hashed()], entities)
    _Meta.change = functools.partial(container.change, made, 1)
    walk.decode([container.view(made)])
    assert _are_decoded(entities)


def test_plain_values_that_change(walk: Any) -> None:
    made: dict[Any, Any] = {"hashed": _Hashed(), "entity": _entities()[0]}
    _Meta.change = lambda: made.update(dict.fromkeys(range(1000)))
    assert walk.is_plain(made) is False


def test_arguments_that_change() -> None:
    """C code can call with a dict that others have as well."""
    trigger: Any = _Entity.from_bytes(PLAIN)
    (entity,) = _entities(1)
    keywords = {"first": trigger, "second": entity}
    trigger.change = lambda: keywords.update({f"new{number}": number for number in range(100)})
    assert call_decoded(lambda **given: sorted(given), (), keywords) == ["first", "second"]
    assert _are_decoded([trigger, entity])


def test_a_schema_that_changes() -> None:
    pytest.importorskip("pydantic")
    from lazyentity.patches.adapters import schemas

    trigger: Any = _Entity.from_bytes(PLAIN)
    fields: dict[str, Any] = {
        "one": {"type": "default", "schema": {"type": "any"}, "default": trigger},
        "two": {"type": "function-plain", "function": {"type": "no-info", "function": print}},
    }
    trigger.change = lambda: fields.update({f"new{number}": {"type": "any"} for number in range(9)})
    adapted = schemas._Adapting(lambda: True).adapted(fields)
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


def _turn_list(made: Any) -> None:
    made.insert(0, None)
    made.append(None)
    del made[0], made[-1]


def _turn_dict(made: Any) -> None:
    for number in range(20):
        made[f"new{number}"] = number
    for number in range(20):
        del made[f"new{number}"]


def _turn_set(made: Any) -> None:
    made.update(range(100))
    made.difference_update(range(100))


def _turn_deque(made: Any) -> None:
    made.append(None)
    made.pop()


SHARED: dict[str, tuple[Callable[[list[LazyEntity]], Any], Callable[[Any], None]]] = {
    "list": (lambda entities: [None, *entities, None], _turn_list),
    "dict": (_named, _turn_dict),
    "object": (lambda entities: Holds(**_named(entities)), lambda made: _turn_dict(vars(made))),
    "set": (lambda entities: set(map(_Record, entities)), _turn_set),
    "deque": (lambda entities: deque([None, *entities]), _turn_deque),
}
"""Makes a container, and changes it, which another thread does over and over."""


@pytest.mark.parametrize(("make", "turn"), SHARED.values(), ids=SHARED.keys())
def test_another_thread_changes_the_container(
    walk: Any, make: Callable[[list[LazyEntity]], Any], turn: Callable[[Any], None]
) -> None:
    """Two threads, at every place where the interpreter lets them take turns."""

    def search(made: Any, ended: threading.Event, number: int) -> None:
        if number:
            while not ended.is_set():
                turn(made)
            return
        try:
            walk.decode(made)
        finally:
            ended.set()

    with switching_often():
        for _ in range(60):
            entities = _entities(20)
            together(2, functools.partial(search, make(entities), threading.Event()))
            assert _are_decoded(entities)


@pytest.fixture(autouse=True)
def _nothing_waits() -> Iterator[None]:
    yield
    _Meta.change = lambda: None  # the native walk did not call it
