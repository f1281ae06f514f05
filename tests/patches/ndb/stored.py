"""Models with properties of every type, and the entities of them that the server tests store."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from google.cloud import ndb
from google.cloud.ndb import polymodel

COUNT = 7
"""How many items are stored, with the ids 1 to this."""

ALL = range(1, COUNT + 1)
MISSING = COUNT + 1
"""An id without an item."""


class Residence(ndb.Model):
    street = ndb.StringProperty()
    city = ndb.StringProperty("c")


class Site(ndb.Model):
    address = ndb.StructuredProperty(Residence)
    name = ndb.StringProperty()
    numbers = ndb.IntegerProperty(repeated=True)


class Shouted(ndb.StringProperty):
    """A property whose user value is not its base value."""

    def _to_base_type(self, value: Any) -> Any:
        return value.lower()

    def _from_base_type(self, value: Any) -> Any:
        return value.upper()


class Item(ndb.Model):
    """Properties of most types; tests of generated models have all of them."""

    number = ndb.IntegerProperty()
    parity = ndb.StringProperty()
    flag = ndb.BooleanProperty()
    text = ndb.StringProperty("t")
    nothing = ndb.StringProperty()
    absent = ndb.StringProperty(default="a default")
    compressed = ndb.BlobProperty(compressed=True)
    json = ndb.JsonProperty()
    moment = ndb.DateTimeProperty()
    where = ndb.GeoPtProperty()
    reference = ndb.KeyProperty()
    generic = ndb.GenericProperty()
    shouted = Shouted()
    tags = ndb.StringProperty(repeated=True)
    address = ndb.StructuredProperty(Residence)
    addresses = ndb.StructuredProperty(Residence, repeated=True)
    site = ndb.StructuredProperty(Site)
    local = ndb.LocalStructuredProperty(Residence)
    computed = ndb.ComputedProperty(lambda item: f"{item.parity} {item.number}")


def item_keys(*numbers: int) -> list[Any]:
    return [ndb.Key(Item, number) for number in numbers]


class Dotted(ndb.Model):
    """Stored as legacy ndb stored structured properties: as properties with dotted names."""

    number = ndb.IntegerProperty()
    address = ndb.StructuredProperty(Residence)
    addresses = ndb.StructuredProperty(Residence, "as", repeated=True)


class Loose(ndb.Expando):
    number = ndb.IntegerProperty()


class Shape(polymodel.PolyModel):
    number = ndb.IntegerProperty()


class Circle(Shape):
    radius = ndb.FloatProperty()


class Hooked(ndb.Model):
    """Takes part in its own reads."""

    number = ndb.IntegerProperty()
    name = ndb.StringProperty()
    got: ClassVar[list[Any]] = []
    """The arguments of the hook after a get."""
    asked: ClassVar[list[Any]] = []
    """The arguments of the hook before a get."""

    @classmethod
    def _pre_get_hook(cls, key: Any) -> None:
        cls.asked.append(key.id())

    @classmethod
    def _post_get_hook(cls, key: Any, future: Any) -> None:
        cls.got.append((key.id(), future.result()))


class Constructed(ndb.Model):
    """Overrides the constructor."""

    number = ndb.IntegerProperty()
    made = ndb.StringProperty()
    unset = ndb.StringProperty()

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.noted = "an attribute of the instance"
        if self.made is None:
            self.made = "by the constructor"
            self.unset = "by the constructor"


def residence(number: int) -> Residence:
    """Return an address with values that depend on ``number``."""
    return Residence(street=f"{number} Street", city="odd" if number % 2 else "even")


def item(number: int) -> Item:
    """Return an item with all properties set but the one for absent values."""
    return Item(
        id=number,
        number=number,
        parity="odd" if number % 2 else "even",
        flag=number % 3 == 0,
        text=f"é 漢 🜁 {number}",
        nothing=None,
        compressed=b"again " * 200,
        json={"number": number, "list": [1, None, "x"]},
        moment=datetime.datetime(2024, 2, 29, 23, 59, 59, number),
        where=ndb.GeoPt(-12.5, 170.25 - number),
        reference=ndb.Key("Other", "name", "Child", number),
        generic=["text", 5, 2.5, None, True, b"bytes", "more"][number - 1],
        shouted=f"quiet {number}",
        tags=["all", f"tag {number % 3}"],
        address=residence(number),
        addresses=[residence(number), residence(number + 1)],
        site=Site(address=residence(number), name="nested", numbers=[1, 2]),
        local=residence(number),
    )


def store(client: Any, namespace: str) -> None:
    """Store everything in a namespace, and nothing else."""
    with client.context(namespace=namespace, legacy_data=False):
        ndb.delete_multi(ndb.Query().fetch(keys_only=True))
        parent = ndb.Key("Parent", 1)
        loose = [Loose(id=number, number=number) for number in (1, 2)]
        loose[1].dynamic = "a name that the class has not"
        loose[1].several = [1, 2]
        ndb.put_multi(
            [
                *(item(number) for number in range(1, COUNT + 1)),
                *(Shape(id=1, number=1), Circle(id=2, number=2, radius=0.5)),
                *(Hooked(id=number, number=number, name=f"n{number}") for number in (1, 2)),
                *(Hooked(parent=parent, id=n, number=n, name="child") for n in (3, 4)),
                Constructed(id=1, number=1, made="stored"),
                *loose,
            ]
        )
    with client.context(namespace=namespace, legacy_data=True):
        ndb.put_multi(
            [
                Dotted(
                    id=number,
                    number=number,
                    address=residence(number),
                    addresses=[residence(number), residence(number + 1)],
                )
                for number in (1, 2)
            ]
        )


PAIRS = [
    *(("Item", number) for number in range(1, COUNT + 1)),
    *[("Dotted", 1), ("Loose", 1), ("Loose", 2), ("Shape", 1), ("Shape", 2), ("Hooked", 1)],
]
"""Kinds and ids of stored models of every class."""


def stored_key(kind: Any = Item, number: int = 1) -> Any:
    return ndb.Key(kind, number)


def stored_keys() -> list[Any]:
    return [ndb.Key(*pair) for pair in PAIRS]
