"""Model classes of any properties, and entities of them as ndb and as others have stored them."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any

from google.cloud import ndb
from google.cloud.ndb import exceptions, model, polymodel
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tests.patches.models import shapes, sorts, values
from tests.patches.models.shapes import Stored
from tests.patches.models.sorts import PLAIN, UNINDEXED, Sort, fixed
from tests.patches.ndb import raw_entities
from tests.patches.ndb.handmade import MODELS, UTC

_ZONE = datetime.timezone(datetime.timedelta(hours=2))
_AWARE = values.TIMES.filter(lambda when: when.year > 1).map(lambda when: when.replace(tzinfo=UTC))
_DYNAMIC = st.one_of(
    values.INTEGERS, values.FLOATS, values.TEXTS, values.BLOBS, st.booleans(), _AWARE
)
_OWN = sorts.Own(
    texts=values.TEXTS,
    places=st.builds(ndb.GeoPt, values.FLOATS, values.FLOATS),
    keys=values.keys_of(ndb.Key),
    blob_keys=st.none(),
    users=st.builds(
        ndb.User, st.just("a@b.c"), st.sampled_from(["b.c", "d"]), st.sampled_from([None, "7"])
    ),
    dynamic=_DYNAMIC,
)


def serialised(instance: Any) -> bytes:
    """Serialise a model as ``put`` does."""
    instance._prepare_for_put()
    raw: bytes = model._entity_to_protobuf(instance)._pb.SerializeToString()
    return raw


LIBRARY = shapes.Library(
    *(__name__, model, polymodel),
    sorts={
        **sorts.simple(ndb, _OWN, "p0"),
        **sorts.of_models(ndb, MODELS, _OWN),
        "compressed text": Sort(model.CompressedTextProperty, values.TEXTS, UNINDEXED),
        "small pickle": fixed(ndb.PickleProperty, values.PICKLED, compressed=True),
        "zone": fixed(ndb.DateTimeProperty, _AWARE, PLAIN, tzinfo=_ZONE),
    },
    dynamic=_DYNAMIC,
    serialised=serialised,
    refuses=(AttributeError, TypeError, ValueError, exceptions.BadValueError),
    without_properties=raw_entities.without_properties,
)


def stored_entities() -> SearchStrategy[Stored]:
    """Entities that ndb has stored, with ``legacy_data`` as in the context."""
    return shapes.stored_entities(LIBRARY)


def changed_entities(*, faulty: bool = False) -> SearchStrategy[Stored]:
    """Entities that ndb has stored, with any change that another program could make."""
    return shapes.changed_entities(LIBRARY, partial(raw_entities.changed, faulty=faulty))
