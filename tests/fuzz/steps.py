"""The operations on an entity: each step applies one to a lazy or to a stock entity.

A step takes the side that it runs on, and a source of chance that is the same on both sides. Where
the sides may differ (the order of properties), the lazy side leaves a record for the stock side,
which runs second.
"""

from __future__ import annotations

import copy
import pickle
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.entity import LazyEntityBase
from tests.entity.consumption import COPIES
from tests.fuzz import material, values
from tests.fuzz.values import NAMES
from tests.support.stock import stock_entity


class Refused(Exception):
    """A lazy entity refused its sentinel, which no stock entity has."""


@dataclass
class Side:
    """One side of a case.

    Attributes:
        raw: the bytes that the entity was made from.
        lazy_type: the class of the lazy side's entities; None on the stock side.
        records: the records of the lazy side, by step and purpose.
        step: the number of the current step.
        entity: the entity or value that the steps change.
        is_lazy: whether ``entity`` is a lazy one of ``raw``; on the stock side, its counterpart.
        tainted: whether dict's own methods put the sentinel into ``entity``.
        has_new_attributes: whether flags or meanings were assigned, here or in an embedded entity,
            or the key was deleted.
        named: the names that the current step has chosen.
    """

    raw: bytes
    lazy_type: type[LazyEntityBase] | None
    records: dict[Any, Any]
    step: int = 0
    entity: Any = field(init=False)
    is_lazy: bool = True
    tainted: bool = False
    has_new_attributes: bool = False
    named: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.entity = self.made(self.raw)

    @property
    def lazy(self) -> bool:
        """Whether this is the lazy side."""
        return self.lazy_type is not None

    def made(self, raw: bytes) -> Any:
        """Make an entity of this side."""
        return stock_entity(raw) if self.lazy_type is None else self.lazy_type.from_bytes(raw)

    def value(self, chance: random.Random) -> Any:
        """Make a value; entities in it are of this side."""
        raws = material.entities()
        return values.value(chance, lambda chance: self.made(chance.choice(raws)))

    def names(self) -> list[Any]:
        """Return the names of the entity, in an order that both sides have."""
        return sorted(self.entity, key=lambda name: (type(name).__name__, repr(name)))

    def name(self, chance: random.Random) -> Any:
        """Choose a name of the entity, mostly."""
        chosen = self._chosen(chance)
        self.named.add(chosen)
        return chosen

    def _chosen(self, chance: random.Random) -> Any:
        there = self.names()
        if there and chance.random() < 0.75:
            return chance.choice(there)
        if chance.random() < 0.05:
            return chance.choice((1, None, values.SURROGATE, values.Text("text")))
        return chance.choice(NAMES)

    def record(self, make: Callable[[], Any], purpose: str = "") -> Any:
        """Return the record of the lazy side for this step."""
        if self.lazy:
            self.records[self.step, purpose] = make()
        return self.records.get((self.step, purpose))


Step = Callable[[Side, random.Random], Any]


def look(side: Side, chance: random.Random) -> Any:
    """Do an operation that decodes nothing."""
    entity, name = side.entity, side.name(chance)
    return name in entity, len(entity), bool(entity), len(list(reversed(entity)))


def read(side: Side, chance: random.Random) -> Any:
    """Read a property, twice."""
    name = side.name(chance)
    value = side.entity[name]
    assert side.entity[name] is value
    return value


def get(side: Side, chance: random.Random) -> Any:
    """Read a property, if it is there."""
    name = side.name(chance)
    return side.entity.get(name), side.entity.get(name, 5)


def start_over(side: Side, chance: random.Random) -> None:
    """Go on with another entity of the same bytes."""
    side.entity = side.made(side.raw)
    side.is_lazy, side.has_new_attributes = True, False


def read_all(side: Side, chance: random.Random) -> Any:
    """Read all properties, in one of many ways."""
    entity = side.entity
    match chance.randrange(6):
        case 0:
            return dict(entity.items())
        case 1:
            return dict(zip(entity, entity.values(), strict=True))
        case 2:
            return {**entity}
        case 3:
            return entity.copy()
        case 4:
            return 5 in entity.values(), ("a", 5) in entity.items()
        case _:
            return len(repr(entity)) > len("<>")


def assign(side: Side, chance: random.Random) -> Any:
    """Assign a value, in one of many ways."""
    name, value = side.name(chance), side.value(chance)
    match chance.randrange(5):
        case 0:
            side.entity.update({name: value})
        case 1:
            side.entity |= {name: value}
        case 2:
            return side.entity.setdefault(name, value)
        case _:
            side.entity[name] = value
    return None


def assign_again(side: Side, chance: random.Random) -> Any:
    """Give a property its own value, or that of another property."""
    entity = side.entity
    entity[side.name(chance)] = entity.get(side.name(chance))


def take_over(side: Side, chance: random.Random) -> Any:
    """Take over the properties of another entity."""
    other = side.made(chance.choice(material.entities()))
    match chance.randrange(6):
        case 0:
            side.entity.update(other)
        case 1:
            side.entity |= other
        case 2:
            return side.entity | other
        case 4:
            return side.entity | {"a": 1}
        case 3:
            return other | side.entity
        case _:
            return {"a": 1} | side.entity
    return None


def take_storage(side: Side, chance: random.Random) -> Any:
    """Take a value out of an entity as C code does, past its methods, and assign it."""
    # No name twice: the assigned value could be the sentinel that is stored already.
    raw = chance.choice(material.entities())
    names = sorted(side.made(raw))
    if not names:
        return None
    name, target = chance.choice(names), side.name(chance)
    way = chance.randrange(6)
    stored = dict.get(side.made(raw), name)
    if side.record(lambda: stored is not UNDECODED):
        return None
    # A copy is a stock entity, whose class is not ours to guard.
    if not side.lazy or not isinstance(side.entity, LazyEntityBase):
        raise Refused
    try:
        _put_sentinel(side.entity, target, stored, way)
    except TypeError as error:
        raise Refused from error
    raise AssertionError(f"the sentinel was assigned to {target!r}, by way {way}")


def _put_sentinel(entity: Any, name: Any, sentinel: Any, way: int) -> None:
    match way:
        case 0:
            entity[name] = sentinel
        case 1:
            entity.update({name: sentinel})
        case 2:
            entity |= {name: sentinel}
        case 3 if name not in entity:
            entity.setdefault(name, sentinel)
        case 4:
            entity.update([(name, sentinel)])
        case _:
            entity.update(name=sentinel)


def taint(side: Side, chance: random.Random) -> Any:
    """Put the sentinel where no assignment puts it: writing must refuse it."""
    side.tainted = True
    match chance.randrange(3):
        case 0:
            dict.__setitem__(side.entity, "new name", UNDECODED)
        case 1:
            side.entity["new name"] = [1, UNDECODED]
        case _:
            side.entity["new name"] = {"a": UNDECODED}


def remove(side: Side, chance: random.Random) -> Any:
    """Take properties out."""
    entity, name = side.entity, side.name(chance)
    match chance.randrange(6):
        case 0:
            return entity.pop(name)
        case 1:
            return entity.pop(name, None)
        case 2:
            last = side.record(lambda: next(reversed(entity), None))
            is_ours = side.lazy or not entity
            return entity.popitem() if is_ours else (last, entity.pop(last))
        case 3 if chance.random() < 0.2:
            return entity.clear()
        case _:
            del entity[name]
    return None


def compare(side: Side, chance: random.Random) -> Any:
    """Compare with another entity, and with a dict."""
    entity, other = side.entity, side.made(chance.choice(material.entities()))
    return entity == other, other != entity, entity == dict(entity), dict(entity) == entity


def duplicate(side: Side, chance: random.Random) -> Any:
    """Look at a copy; now and then, go on with it."""
    made = chance.choice(list(COPIES.values()))(side.entity)
    if chance.random() < 0.3:
        side.entity = made
        side.is_lazy = False
    return made


def pickled(side: Side, chance: random.Random) -> Any:
    """Load a pickle of any protocol and look at the result."""
    state = pickle.dumps(side.entity, protocol=chance.randint(0, pickle.HIGHEST_PROTOCOL))
    return pickle.loads(state)  # made in the line above


def key(side: Side, chance: random.Random) -> Any:
    """Read or change the key."""
    entity = side.entity
    match chance.randrange(8):
        case 0:
            entity.key = chance.choice(
                (None, Key("Kind", project="p"), Key("Kind", 7, project="p"))
            )
        case 1:
            entity.key = entity.key.completed_key(5)
        case 2:
            entity.key = copy.deepcopy(entity.key)
        case 3 if chance.random() < 0.2:
            del entity.key
            side.has_new_attributes = True
        case 4 if chance.random() < 0.2:
            entity.key = "no key"
        case _:
            return entity.key, entity.kind, entity.id
    return None


def flags(side: Side, chance: random.Random) -> Any:
    """Read or change which properties are excluded from indexes."""
    entity, name = side.entity, side.name(chance)
    way = chance.randrange(8)
    side.has_new_attributes |= way in (2, 3)
    match way:
        case 0:
            entity.exclude_from_indexes.add(name)
        case 1:
            entity.exclude_from_indexes.discard(name)
        case 2:
            kind = chance.choice((set, set, tuple, list, frozenset))
            entity.exclude_from_indexes = kind((name, side.name(chance)))
        case 3 if chance.random() < 0.2:
            entity.exclude_from_indexes = chance.choice(("abc", {"a": 1}, (), None, 5))
        case _:
            return sorted(entity.exclude_from_indexes)
    return None


def meanings(side: Side, chance: random.Random) -> Any:
    """Read or change the meanings."""
    entity, name = side.entity, side.name(chance)
    way = chance.randrange(8)
    side.has_new_attributes |= way in (1, 2, 3, 4)
    match way:
        case 0:
            entity._meanings.pop(name, None)
        case 1:
            value = entity.get(name)
            entity._meanings[name] = (values.meaning(chance, value), value)
        case 2:
            value = entity.get(name)
            entity._meanings = {name: (values.meaning(chance, value), value)}
        case 3:
            entity._meanings = {}
        case 4 if chance.random() < 0.2:
            entity._meanings = chance.choice((None, {"a": 5}, [("a", (9, 1))]))
        case _:
            return sorted(name for name in entity._meanings if type(name) is str)
    return None


def attributes(side: Side, chance: random.Random) -> Any:
    """Set or read attributes of other names."""
    entity = side.entity
    match chance.randrange(4):
        case 0:
            entity.note = "an attribute"
        case 1:
            return getattr(entity, "note", None)
        case 2:
            return sorted(vars(entity))
        case 3 if chance.random() < 0.1:
            # A deleted attribute is not read from the bytes again.
            name = chance.choice(("key", "exclude_from_indexes", "_meanings"))
            side.has_new_attributes = True
            if chance.random() < 0.5:
                return vars(entity).pop(name)
            delattr(entity, name)
            return hasattr(entity, name)
    return entity


def change_inside(side: Side, chance: random.Random) -> Any:
    """Change the value inside a property."""
    inside = side.entity.get(side.name(chance))
    while isinstance(inside, list) and inside and chance.random() < 0.5:
        inside = inside[chance.randrange(len(inside))]
    if isinstance(inside, list):
        match chance.randrange(3):
            case 0:
                inside.append(side.value(chance))
            case 1:
                inside.clear()
            case _:
                inside.reverse()
    elif isinstance(inside, Entity):
        outer = side.entity
        side.entity = inside
        try:
            return chance.choice((assign, remove, key, flags, meanings, change_inside))(
                side, chance
            )
        finally:
            side.entity = outer
    elif type(inside) is dict:
        inside["changed"] = side.value(chance)
    return None


STEPS: tuple[Step, ...] = (
    *(look, read, read, get, read_all, compare, duplicate, pickled),
    *(assign, assign, assign, assign_again, take_over, remove, remove, take_storage, start_over),
    *(key, flags, flags, meanings, meanings, attributes, change_inside, change_inside),
)

LAZY_STEPS: dict[Step, bool] = {
    **dict.fromkeys((look, remove, key, flags), False),
    **dict.fromkeys((read, get, assign, assign_again, change_inside), True),
}
"""Steps that decode nothing, False, or nothing but the properties that they name, True."""
