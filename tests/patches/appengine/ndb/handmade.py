"""Models written by hand."""

from __future__ import annotations

import datetime
from typing import Any

from google.appengine.api import users
from google.appengine.ext import ndb
from google.appengine.ext.ndb import polymodel

WHEN = datetime.datetime(2024, 5, 6, 7, 8, 9, 123456)


class Address(ndb.Model):
    street = ndb.StringProperty("s")
    number = ndb.IntegerProperty(default=1)
    note = ndb.TextProperty()


class Person(ndb.Model):
    name = ndb.StringProperty("n", required=True)
    home = ndb.StructuredProperty(Address, "h")
    photo = ndb.BlobProperty(compressed=True)


class Family(ndb.Model):
    homes = ndb.StructuredProperty(Address, repeated=True)
    count = ndb.IntegerProperty()


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
    blob = ndb.BlobProperty()
    indexed_blob = ndb.BlobProperty(indexed=True)
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
    address = ndb.StructuredProperty(Address)
    addresses = ndb.StructuredProperty(Address, "as", repeated=True)
    person = ndb.LocalStructuredProperty(Person)
    keyed = ndb.LocalStructuredProperty(Person, keep_keys=True)
    people = ndb.LocalStructuredProperty(Person, compressed=True, repeated=True)
    owner = ndb.StructuredProperty(Person)
    family = ndb.StructuredProperty(Family)
    pet = ndb.LocalStructuredProperty(Animal)
    anything = ndb.StructuredProperty(Anything)
    integers = ndb.IntegerProperty("is", repeated=True)
    strings = ndb.StringProperty(repeated=True, validator=lambda _, value: value.strip())
    whens = ndb.DateTimeProperty(repeated=True, indexed=False)
    blobs = ndb.BlobProperty(repeated=True)
    friends = ndb.KeyProperty(repeated=True)
    nothings = ndb.StringProperty(repeated=True, write_empty_list=True)


def everything(**changes: Any) -> Any:
    """Make a model of which every property has a value."""
    address = Address(street="Street", number=3, note="x" * 30)
    person = Person(id="pp", name="P", home=Address(street="H"), photo=b"photo" * 9)
    values: dict[str, Any] = {
        "integer": 1,
        "number": 1.5,
        "yes": True,
        "string": "a",
        "text": "Grüße",
        "long_text": "long" * 50,
        "blob": b"\0\xff",
        "indexed_blob": b"\xfe",
        "small_blob": b"b" * 100,
        "json": {"a": [1, None, "x"]},
        "small_json": [1] * 30,
        "pickled": {"a": (1, 2), 3: None},
        "place": ndb.GeoPt(1.5, -2),
        "friend": ndb.Key("Person", 1),
        "blob_key": ndb.BlobKey("blob"),
        "user": users.User(email="a@b.c", _auth_domain="b.c", _user_id="7"),
        "when": WHEN,
        "day": WHEN.date(),
        "time": WHEN.time(),
        "generic": 4,
        "generics": [1, "a", 2.5],
        "address": address,
        "addresses": [address, Address(street="two")],
        "person": person,
        "keyed": person,
        "people": [person, Person(name="other")],
        "owner": person,
        "family": Family(homes=[address, Address(street="three")], count=2),
        "pet": Cat(legs=4, whiskers=8),
        "anything": Anything(known=1, other="o", some=[1, 2]),
        "integers": [1, 2],
        "strings": ["a ", " b"],
        "whens": [WHEN, WHEN],
        "blobs": [b"a", b"b"],
        "friends": [ndb.Key("Person", 1), ndb.Key("Other", "x")],
    }
    return Everything(id=5, **{**values, **changes})
