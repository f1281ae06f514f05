"""Graphs of Python objects with entities at random places, given to adapted libraries.

The result or error of the call has to be that of the same graph with stock entities. A part of the
graph may come out of a hook of the library instead of an argument.

    python -m tests.fuzz.graphs --seconds 60
"""

from __future__ import annotations

import random
import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel

from lazyentity import LazyEntity
from lazyentity._inplace import SLOTS
from tests.fuzz import running
from tests.fuzz.uses import USES
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import in_order_of, stock_entity
from tests.support.strategies.samples import serialise

_DEEPEST = 4
_WIDEST = 3
_MOST_ENTITIES = 3
_NEUTRAL = (
    (re.compile(r"[\w.]*\bLazyEntity\b"), "Entity"),
    (re.compile(r"[\w.]*\b(\w+\.)Entity\b"), "Entity"),
    (re.compile(r" at 0x[0-9a-f]+"), ""),
)

Node = tuple[Any, ...]
"""The name of a kind of :data:`KINDS`, and its parts; or ``entity``, ``value`` or ``within``."""


class Model(BaseModel):
    """A model that holds anything."""

    first: Any
    others: list[Any]


@dataclass
class Record:
    """A dataclass that holds anything."""

    first: Any
    others: list[Any]


class Plain:
    """An object that encoders hand to a hook."""

    def __init__(self, first: Any, others: list[Any]) -> None:
        self.first = first
        self.others = others


KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "dict": lambda parts: {f"k{index}": part for index, part in enumerate(parts)},
    "ordered": lambda parts: OrderedDict((f"k{index}", part) for index, part in enumerate(parts)),
    "deque": deque,
    "record": lambda parts: Record(parts[0], parts[1:]),
    "model": lambda parts: Model(first=parts[0], others=parts[1:]),
    "plain": lambda parts: Plain(parts[0], parts[1:]),
    "twice": lambda parts: [parts[0], parts[0]],
}
"""Kinds of objects with parts, of which there is at least one."""

if SLOTS:
    # The pure backend hands on another iterator, which errors name.
    KINDS["iterator"] = iter


@dataclass(frozen=True)
class Case:
    """A graph, and the use of a library that gets it.

    Attributes:
        raws: the serialised entities.
        read: for each entity, the names to read before the call.
        graph: the object that is the argument.
        use: a name of :data:`~tests.fuzz.uses.USES`.
    """

    raws: tuple[bytes, ...]
    read: tuple[tuple[str, ...], ...]
    graph: Node
    use: str

    def __str__(self) -> str:
        return f"{self.use} of {self.graph!r}, read before: {self.read}, entities: {self.raws}"


def _properties(chance: random.Random, depth: int) -> dict[str, Any]:
    names = chance.sample(
        ("text", "number", "inner", "list", "yes", "nothing"), chance.randint(1, 4)
    )
    return {name: _property(name, chance, depth) for name in names}


def _property(name: str, chance: random.Random, depth: int) -> Any:
    if name == "inner":
        return _properties(chance, depth + 1) if depth < _WIDEST else "flat"
    if name == "list":
        inner = [_properties(chance, depth + 1)] if depth < 1 else []
        return [chance.randint(0, 9), *inner, "Grüße"]
    return {"text": "words", "number": 2**40, "yes": True, "nothing": None}[name]


def _graph(chance: random.Random, depth: int, entities: int) -> Node:
    at_random = chance.random()
    if depth and (depth == _DEEPEST or at_random < 0.4):
        if at_random < 0.25 or depth == _DEEPEST:
            return "entity", chance.randrange(entities)
        if at_random < 0.32:
            return "within", chance.randrange(entities)
        return "value", chance.choice(("text", 5, 1.5, None, True))
    # Adapters look into objects in objects down to a depth of three.
    kind = chance.choice([kind for kind in KINDS if kind != "plain" or depth < _DEEPEST - 1])
    parts = (_graph(chance, depth + 1, entities) for _ in range(chance.randint(1, _WIDEST)))
    return kind, *parts


def made(seed: int, number: int) -> Case:
    """Return the case of a number."""
    chance = running.chance_of(seed, number)
    properties = [_properties(chance, 0) for _ in range(chance.randint(1, _MOST_ENTITIES))]
    read = [chance.sample(list(each), chance.choice((0, 0, 1))) for each in properties]
    return Case(
        tuple(map(serialise, properties)),
        tuple(map(tuple, read)),
        _graph(chance, 0, len(properties)),
        chance.choice(list(USES)),
    )


def built(node: Node, entities: list[Any]) -> Any:
    """Return the object that a node stands for."""
    kind, *parts = node
    if kind == "entity":
        return entities[parts[0]]
    if kind == "within":
        # A list or an entity may be inside.
        entity = entities[parts[0]]
        return next((entity[name] for name in ("inner", "list") if name in entity), entity)
    if kind == "value":
        return parts[0]
    return KINDS[kind]([built(part, entities) for part in parts])


def lazily(case: Case) -> tuple[Any, list[LazyEntity]]:
    """Give the graph with lazy entities to the library; return the outcome, and the entities."""
    entities = [LazyEntity.from_bytes(raw) for raw in case.raws]
    for entity, names in zip(entities, case.read, strict=True):
        for name in names:
            entity[name]
    return _outcome(case, entities), entities


def compare(case: Case, done: tuple[Any, list[LazyEntity]]) -> None:
    """Give the graph with stock entities to the library.

    Raises:
        AssertionError: the outcome differs, or the entities do afterwards.
    """
    found, entities = done
    stock = [in_order_of(LazyEntity.from_bytes(raw), stock_entity(raw)) for raw in case.raws]
    expected = _outcome(case, stock)
    assert found == expected, (found, expected)
    assert list(map(snapshot, entities)) == list(map(snapshot, stock))


def _outcome(case: Case, entities: list[Any]) -> Any:
    graph = built(case.graph, entities)
    result = outcome(USES[case.use], graph)
    if isinstance(result, Raised):
        text = result.text
        for pattern, neutral in _NEUTRAL:
            text = pattern.sub(neutral, text)
        return replace(result, text=text)
    return _seen(result)


def _seen(value: Any) -> Any:
    """Return what C code sees of a result: the storage of dicts, and types. Order does not count.

    Raises:
        AssertionError: if there is a sentinel.
    """
    if isinstance(value, dict):
        content = {name: _seen(dict.__getitem__(value, name)) for name in dict.keys(value)}
        return "dict", dict(sorted(content.items()))
    if isinstance(value, Mapping):
        return type(value).__name__, {name: _seen(value[name]) for name in sorted(value)}
    if isinstance(value, (list, tuple, deque, Iterator)):
        return type(value).__name__, list(map(_seen, value))
    assert type(value) in (str, int, float, bool, bytes, type(None)), type(value)
    return type(value).__name__, value


def smallest(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case that fails as well, with no node that could be left out."""
    for smaller in _smaller(case.graph):
        if fails(replace(case, graph=smaller)):
            return smallest(replace(case, graph=smaller), fails)
    return case


def _smaller(node: Node) -> list[Node]:
    kind, *parts = node
    if kind not in KINDS:
        return []
    fewer = [(kind, *parts[:at], *parts[at + 1 :]) for at in range(len(parts))]
    changed = [
        (kind, *parts[:at], smaller, *parts[at + 1 :])
        for at, part in enumerate(parts)
        for smaller in _smaller(part)
    ]
    return [*parts, *(fewer if len(parts) > 1 else ()), *changed]


main = running.Fuzzer("python -m tests.fuzz.graphs", made, lazily, compare, smallest).command(
    "Fuzz graphs of objects, given to adapted libraries."
)


if __name__ == "__main__":
    main()
