"""Models that are the same in both libraries named ndb."""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

WHEN = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)


class Models(NamedTuple):
    """Small models, of which other models have properties."""

    Address: Any
    Person: Any
    Animal: Any
    Cat: Any
    Anything: Any


def small_models(ndb: Any, polymodel: Any, module: str) -> Models:
    """Define small models.

    Args:
        ndb: the library.
        polymodel: its module of hierarchies.
        module: the name of the module in which pickle finds the classes.
    """

    class Address(ndb.Model):  # type: ignore[misc]
        street = ndb.StringProperty("s")
        number = ndb.IntegerProperty(default=1)
        note = ndb.TextProperty()

    class Person(ndb.Model):  # type: ignore[misc]
        name = ndb.StringProperty("n", required=True)
        home = ndb.StructuredProperty(Address, "h")
        photo = ndb.BlobProperty(compressed=True)

    class Animal(polymodel.PolyModel):  # type: ignore[misc]
        legs = ndb.IntegerProperty("l")

    class Cat(Animal):
        whiskers = ndb.IntegerProperty("w")

    class Anything(ndb.Expando):  # type: ignore[misc]
        known = ndb.IntegerProperty("k")

    defined = Models(Address, Person, Animal, Cat, Anything)
    for kind in defined:
        kind.__module__ = module
        kind.__qualname__ = kind.__name__
    return defined
