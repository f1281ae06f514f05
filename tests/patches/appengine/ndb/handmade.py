"""Models written by hand."""

from __future__ import annotations

from typing import Any

from google.appengine.api import users
from google.appengine.ext import ndb
from google.appengine.ext.ndb import polymodel

from tests.patches.models import handmade

MODELS = handmade.small_models(ndb, polymodel, __name__)
Address, Person, Animal, Cat, Anything = MODELS


class Family(ndb.Model):
    homes = ndb.StructuredProperty(Address, repeated=True)
    count = ndb.IntegerProperty()


class Everything(handmade.with_properties(ndb, MODELS)):  # type: ignore[misc]
    """One property of each kind there is, and some twice."""

    indexed_blob = ndb.BlobProperty(indexed=True)
    family = ndb.StructuredProperty(Family)
    nothings = ndb.StringProperty(repeated=True, write_empty_list=True)


def everything(**changes: Any) -> Any:
    """Make a model of which every property has a value."""
    values = handmade.values(ndb, MODELS, users.User)
    values |= {
        "indexed_blob": b"\xfe",
        "blob_key": ndb.BlobKey("blob"),
        "family": Family(homes=[values["address"], Address(street="three")], count=2),
    }
    return Everything(id=5, **{**values, **changes})
