"""Model classes of any properties, and entities of them as ndb and as others have stored them."""

from __future__ import annotations

import dataclasses
from typing import Any

from google.appengine.api import users
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model, polymodel
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.patches.appengine.ndb import raw_entities
from tests.patches.appengine.ndb.handmade import MODELS, Family
from tests.patches.models import shapes, sorts, values
from tests.patches.models.shapes import Stored
from tests.patches.models.sorts import NONE, UNINDEXED, fixed
from tests.patches.models.values import Values

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
    return shapes.changed_entities(LIBRARY, raw_entities.changed)
