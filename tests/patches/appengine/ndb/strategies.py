"""Model classes of any properties, and entities of them as ndb and as others have stored them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from google.appengine.api import users
from google.appengine.datastore.entity_bytes_pb2 import EntityProto, Property, PropertyValue
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model, polymodel
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.patches.models import handmade, shapes, sorts, values
from tests.patches.models.shapes import Stored, change_key
from tests.patches.models.sorts import NONE, UNINDEXED, fixed
from tests.patches.models.values import Values

MODELS = handmade.small_models(ndb, polymodel, __name__)
Address, Person, Animal, Cat, Anything = MODELS


class Shop(ndb.Model):
    place = ndb.GeoPtProperty()
    string = ndb.StringProperty(choices=["a", "b"])
    text = ndb.TextProperty()


def shop() -> Any:
    """Make a shop with all values."""
    return Shop(id=5, place=ndb.GeoPt(1.5, -2), string="a", text="Grüße")


class Family(ndb.Model):
    homes = ndb.StructuredProperty(Address, repeated=True)
    count = ndb.IntegerProperty()


_SUB_NAMES = ("s", "number", "n", "h", "h.s", "homes", "homes.s", "count", "k", "class", "new")
_UNKNOWN = ("unknown", "key", "_key", "put", "_projection", " ", "class", "dynamic", "a.b", "a.a")
_MEANINGS = st.sampled_from(
    [
        *(None, None, Property.NO_MEANING, Property.BLOB, Property.TEXT, Property.BYTESTRING),
        *(Property.GD_WHEN, Property.GEORSS_POINT, Property.ENTITY_PROTO, Property.BLOBKEY),
        *(Property.EMPTY_LIST, Property.INDEX_VALUE),
    ]
)
_CONTENTS: dict[str, values.Values] = {
    "booleanValue": st.booleans(),
    "doubleValue": values.FLOATS,
    "int64Value": st.sampled_from([0, 1, 2**60]),
    "stringValue": st.one_of(values.BLOBS, st.sampled_from([b"[1]", b"abc", "Grüße".encode()])),
}
_POINTS = st.fixed_dictionaries({"x": values.FLOATS, "y": st.just(2.0)})
_USERS = st.fixed_dictionaries(
    {"email": st.just("a@b.c"), "auth_domain": st.just("b.c"), "gaiaid": st.sampled_from([0, 5])}
)
_ELEMENTS = st.fixed_dictionaries(
    {"type": st.just("Person")},
    optional={"id": st.sampled_from([0, 1]), "name": st.sampled_from(["", "name"])},
)
_REFERENCES = st.fixed_dictionaries(
    {
        "app": st.sampled_from(["app", "other"]),
        "name_space": st.sampled_from([None, "", "space"]),
        "pathelement": st.lists(_ELEMENTS, max_size=2),
        "database_id": st.sampled_from([None, None, None, "database"]),
    }
)
_VALUES = st.one_of(
    st.just({}),
    st.fixed_dictionaries({}, optional=_CONTENTS),
    *(
        st.fixed_dictionaries({name: contents})
        for name, contents in {
            **_CONTENTS,
            "pointvalue": _POINTS,
            "uservalue": _USERS,
            "referencevalue": _REFERENCES,
        }.items()
    ),
).map(lambda fields: PropertyValue(**fields))
_PROPERTIES = st.fixed_dictionaries(
    {
        "meaning": _MEANINGS,
        "value": _VALUES,
        "meaning_uri": st.sampled_from([None, None, None, "ZLIB", "other"]),
        "computed": st.sampled_from([None, None, None, None, True, False]),
    }
)


def _without(properties: Any, name: str) -> None:
    kept = [each for each in properties if each.name != name]
    del properties[:]
    properties.extend(kept)


@st.composite
def _changed(draw: DrawFn, raw: bytes, names: Sequence[str]) -> bytes:
    """Change the properties of an entity, which have such names."""
    message = EntityProto.FromString(raw)
    dotted = st.builds("{}.{}".format, st.sampled_from(names), st.sampled_from(_SUB_NAMES))
    known = st.sampled_from(names)
    anywhere = st.one_of(known, known, dotted, st.sampled_from(_UNKNOWN))
    for name in draw(st.lists(anywhere, min_size=1, max_size=4, unique=True)):
        properties = draw(st.sampled_from([message.property, message.raw_property]))
        match draw(st.sampled_from(["set", "set", "add", "delete", "field"])):
            case "delete":
                _without(message.property, name)
            case "field":
                found = [each for each in message.property if each.name == name]
                _without(message.property, name)
                message.raw_property.extend(found)
            case how:
                if how == "set":
                    _without(message.property, name)
                    _without(message.raw_property, name)
                multiple = draw(st.booleans())
                for _ in range(draw(st.integers(1, 3)) if multiple else 1):
                    properties.add(name=name, multiple=multiple, **draw(_PROPERTIES))
    if draw(st.integers(0, 9)) == 9:
        change_key(draw, message, message.key.path.element[-1], "type")
    serialised_message: bytes = message.SerializePartialToString()
    return serialised_message


_TEXTS = st.sampled_from([*values.SOME_TEXTS, "\ud800"])
_KEYS = values.keys_of(ndb.Key)
_PLACES = st.builds(ndb.GeoPt, st.sampled_from([0.0, 1.5, -90.0]), st.sampled_from([0.0, 180.0]))


def _dynamic(texts: Values) -> Values:
    return st.one_of(
        *(values.INTEGERS, values.FLOATS, texts, values.BLOBS, st.booleans(), values.TIMES),
        *(_KEYS, _PLACES),
    )


_DYNAMIC = _dynamic(_TEXTS)
_OWN = sorts.Own(
    texts=_TEXTS,
    places=_PLACES,
    keys=_KEYS,
    blob_keys=st.builds(ndb.BlobKey, st.sampled_from(["a", "key"])),
    users=st.builds(
        lambda domain, identifier: users.User("a@b.c", _auth_domain=domain, _user_id=identifier),
        st.sampled_from(["b.c", "d"]),
        st.sampled_from([None, "7"]),
    ),
    dynamic=_DYNAMIC,
)
_FAMILIES = st.builds(
    Family,
    homes=st.lists(sorts.addresses(MODELS, _OWN), max_size=3),
    count=values.optional(values.INTEGERS),
)
# An expando cannot be made of texts that are not encoded.
_OF_MODELS = sorts.of_models(ndb, MODELS, dataclasses.replace(_OWN, dynamic=_dynamic(values.TEXTS)))
_ONE = UNINDEXED - {"repeated"}


def serialised(instance: Any) -> bytes:
    """Serialise a model as ``put`` does."""
    instance._prepare_for_put()
    raw: bytes = instance._to_pb().SerializeToString()
    return raw


def _without_properties(kind: str) -> bytes:
    message = model.Model(id=5)._to_pb()
    for path in (message.key.path, message.entity_group):
        path.element[-1].type = kind
    raw: bytes = message.SerializeToString()
    return raw


LIBRARY = shapes.Library(
    *(__name__, model, polymodel),
    sorts={
        **sorts.simple(ndb, _OWN, b"p0"),
        **_OF_MODELS,
        "expando": dataclasses.replace(_OF_MODELS["expando"], options=_ONE),
        "animal": dataclasses.replace(_OF_MODELS["animal"], options=_ONE),
        "family": fixed(ndb.StructuredProperty, _FAMILIES, _ONE, modelclass=Family),
        "empty": fixed(ndb.StringProperty, _TEXTS, NONE, repeated=True, write_empty_list=True),
    },
    dynamic=_DYNAMIC,
    serialised=serialised,
    refuses=(AttributeError, TypeError, ValueError, model.datastore_errors.BadValueError),
    without_properties=_without_properties,
)


def stored_entities() -> SearchStrategy[Stored]:
    """Entities that ndb has stored."""
    return shapes.stored_entities(LIBRARY)


def changed_entities() -> SearchStrategy[Stored]:
    """Entities that ndb has stored, with any change that another program could make."""
    return shapes.changed_entities(LIBRARY, _changed)
