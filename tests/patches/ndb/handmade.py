"""Models written by hand.

Imports nothing of lazyentity: their pickles are loaded where it is not.
"""

from __future__ import annotations

import datetime
from typing import Any

from google.cloud import ndb
from google.cloud.ndb import model, polymodel

UTC = datetime.timezone.utc
WHEN = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)


class Address(ndb.Model):
    street = ndb.StringProperty("s")
    number = ndb.IntegerProperty(default=1)
    note = ndb.TextProperty()


class Person(ndb.Model):
    name = ndb.StringProperty("n", required=True)
    home = ndb.StructuredProperty(Address, "h")
    photo = ndb.BlobProperty(compressed=True)


class Other(ndb.Model):
    """A model that was given as a key by mistake."""


class Animal(polymodel.PolyModel):
    legs = ndb.IntegerProperty("l")


class Cat(Animal):
    whiskers = ndb.IntegerProperty("w")


class Anything(ndb.Expando):
    known = ndb.IntegerProperty("k")


class Everything(ndb.Model):
    """One property of each kind there is, and some twice."""

    integer = ndb.IntegerProperty("i", default=7)
    number = ndb.FloatProperty(indexed=False)
    yes = ndb.BooleanProperty()
    string = ndb.StringProperty(choices=["a", "b"])
    text = ndb.TextProperty()
    long_text = ndb.TextProperty(compressed=True)
    compressed_text = model.CompressedTextProperty("ct")
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
    local_when = ndb.DateTimeProperty(tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    changed = ndb.DateTimeProperty("c")
    day = ndb.DateProperty()
    time = ndb.TimeProperty()
    lower = ndb.ComputedProperty(lambda self: (self.string or "").lower())
    generic = ndb.GenericProperty()
    generics = ndb.GenericProperty(repeated=True)
    address = ndb.StructuredProperty(Address)
    addresses = ndb.StructuredProperty(Address, "as", repeated=True)
    person = ndb.LocalStructuredProperty(Person)
    keyed = ndb.LocalStructuredProperty(Person, keep_keys=True)
    people = ndb.LocalStructuredProperty(Person, compressed=True, repeated=True)
    owner = ndb.StructuredProperty(Person)
    pet = ndb.LocalStructuredProperty(Animal)
    anything = ndb.StructuredProperty(Anything)
    integers = ndb.IntegerProperty("is", repeated=True)
    strings = ndb.StringProperty(repeated=True, validator=lambda _, value: value.strip())
    whens = ndb.DateTimeProperty(repeated=True, indexed=False)
    blobs = ndb.BlobProperty(repeated=True)
    friends = ndb.KeyProperty(repeated=True)


def everything() -> Any:
    """Make a model of which every property has a value."""
    address = Address(street="Street", number=3, note="x" * 30)
    person = Person(id="pp", name="P", home=Address(street="H"), photo=b"photo" * 9)
    return Everything(
        id=5,
        integer=1,
        number=1.5,
        yes=True,
        string="a",
        text="Grüße",
        long_text="long" * 50,
        compressed_text="ct" * 50,
        blob=b"\0\xff",
        small_blob=b"b" * 100,
        json={"a": [1, None, "x"]},
        small_json=[1] * 30,
        pickled={"a": (1, 2), 3: None},
        place=ndb.GeoPt(1.5, -2),
        friend=ndb.Key("Person", 1),
        user=ndb.User(email="a@b.c", _auth_domain="b.c", _user_id="7"),
        when=WHEN,
        local_when=WHEN.replace(tzinfo=UTC),
        changed=WHEN,
        day=WHEN.date(),
        time=WHEN.time(),
        generic=4,
        generics=[1, "a", 2.5],
        address=address,
        addresses=[address, Address(street="two")],
        person=person,
        keyed=person,
        people=[person, Person(name="other")],
        owner=person,
        pet=Cat(legs=4, whiskers=8),
        anything=Anything(known=1, other="o", some=[1, 2]),
        integers=[1, 2],
        strings=["a ", " b"],
        whens=[WHEN, WHEN],
        blobs=[b"a", b"b"],
        friends=[ndb.Key("Person", 1), ndb.Key("Other", "x")],
    )
