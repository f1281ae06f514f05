"""Models that are the same in both libraries named ndb.

Imports nothing of lazyentity: their pickles are loaded where it is not.
"""

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


def with_properties(ndb: Any, models: Models) -> Any:
    """Define a model with one property of each kind that there is in both, and some twice.

    Args:
        ndb: the library.
        models: its small models.
    """

    class InBoth(ndb.Model):  # type: ignore[misc]
        integer = ndb.IntegerProperty("i", default=7)
        number = ndb.FloatProperty(indexed=False)
        yes = ndb.BooleanProperty()
        string = ndb.StringProperty(choices=["a", "b"])
        text = ndb.TextProperty()
        long_text = ndb.TextProperty(compressed=True)
        blob = ndb.BlobProperty()
        small_blob = ndb.BlobProperty("sb", compressed=True)
        json = ndb.JsonProperty()
        small_json = ndb.JsonProperty(compressed=True)
        pickled = ndb.PickleProperty()
        place = ndb.GeoPtProperty()
        friend = ndb.KeyProperty("f", kind="Person")
        blob_key = ndb.BlobKeyProperty()
        user = ndb.UserProperty()
        when = ndb.DateTimeProperty()
        day = ndb.DateProperty()
        time = ndb.TimeProperty()
        lower = ndb.ComputedProperty(lambda self: (self.string or "").lower())
        generic = ndb.GenericProperty()
        generics = ndb.GenericProperty(repeated=True)
        address = ndb.StructuredProperty(models.Address)
        addresses = ndb.StructuredProperty(models.Address, "as", repeated=True)
        person = ndb.LocalStructuredProperty(models.Person)
        keyed = ndb.LocalStructuredProperty(models.Person, keep_keys=True)
        people = ndb.LocalStructuredProperty(models.Person, compressed=True, repeated=True)
        owner = ndb.StructuredProperty(models.Person)
        pet = ndb.LocalStructuredProperty(models.Animal)
        anything = ndb.StructuredProperty(models.Anything)
        integers = ndb.IntegerProperty("is", repeated=True)
        strings = ndb.StringProperty(repeated=True, validator=lambda _, value: value.strip())
        whens = ndb.DateTimeProperty(repeated=True, indexed=False)
        blobs = ndb.BlobProperty(repeated=True)
        friends = ndb.KeyProperty(repeated=True)

    return InBoth


def values(ndb: Any, models: Models, user_type: Any) -> dict[str, Any]:
    """Make values for these properties, except where only one of the libraries has values.

    Args:
        ndb: the library.
        models: its small models.
        user_type: its class of users.
    """
    address = models.Address(street="Street", number=3, note="x" * 30)
    home = models.Address(street="H")
    person = models.Person(id="pp", name="P", home=home, photo=b"photo" * 9)
    return {
        "integer": 1,
        "number": 1.5,
        "yes": True,
        "string": "a",
        "text": "Grüße",
        "long_text": "long" * 50,
        "blob": b"\0\xff",
        "small_blob": b"b" * 100,
        "json": {"a": [1, None, "x"]},
        "small_json": [1] * 30,
        "pickled": {"a": (1, 2), 3: None},
        "place": ndb.GeoPt(1.5, -2),
        "friend": ndb.Key("Person", 1),
        "user": user_type(email="a@b.c", _auth_domain="b.c", _user_id="7"),
        "when": WHEN,
        "day": WHEN.date(),
        "time": WHEN.time(),
        "generic": 4,
        "generics": [1, "a", 2.5],
        "address": address,
        "addresses": [address, models.Address(street="two")],
        "person": person,
        "keyed": person,
        "people": [person, models.Person(name="other")],
        "owner": person,
        "pet": models.Cat(legs=4, whiskers=8),
        "anything": models.Anything(known=1, other="o", some=[1, 2]),
        "integers": [1, 2],
        "strings": ["a ", " b"],
        "whens": [WHEN, WHEN],
        "blobs": [b"a", b"b"],
        "friends": [ndb.Key("Person", 1), ndb.Key("Other", "x")],
    }
