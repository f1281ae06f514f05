"""Serialised entities: made by hand, as ndb has stored them, and as other programs change them."""

from __future__ import annotations

import datetime
import functools
import zlib
from collections.abc import Sequence
from typing import Any

from google.cloud import ndb
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key
from google.cloud.ndb import exceptions, model, polymodel
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.patches.models import handmade, shapes, sorts, values
from tests.patches.models.shapes import Stored, change_key
from tests.patches.models.sorts import PLAIN, UNINDEXED, Sort, fixed
from tests.patches.ndb.pairs import stored
from tests.support.stock import EntityMessage, ValueMessage

MODELS = handmade.small_models(ndb, polymodel, __name__)
Address, Person, Animal, Cat, Anything = MODELS


class Other(ndb.Model):
    """A model that was given as a key by mistake."""


UTC = datetime.timezone.utc
_WHEN = handmade.WHEN.replace(tzinfo=UTC)
_SUB_NAMES = ("s", "number", "n", "h", "street", "photo", "note", "l", "k", "class", "new", "h.s")
_UNKNOWN_NAMES = ("unknown", "key", "_key", "put", "_projection", "", " ", ".", "class", "dynamic")
_MEANINGS = st.sampled_from([22, 22, 15, 9, 20, 0])

_SCALARS = st.sampled_from(
    [
        None,
        True,
        0,
        5,
        2**50,
        1.5,
        "",
        "a",
        "text",
        '{"json": [1]}',
        b"",
        b"bytes",
        b"\xff",
        b'{"json": [1]}',
        b"x\x9cbroken",
        zlib.compress(b"zipped"),
        zlib.compress(b"[1]"),
        _WHEN,
        Key("Person", 1, project="p"),
        Key("Generated", 1, project="p"),
        GeoPoint(1.5, 2),
    ]
)


def _embedded(values: SearchStrategy[Any]) -> SearchStrategy[Entity]:
    def make(key: Key | None, properties: dict[str, Any], meanings: dict[str, int]) -> Entity:
        entity = Entity(key)
        entity.update(properties)
        entity._meanings = {
            name: (meaning, entity[name]) for name, meaning in meanings.items() if name in entity
        }
        return entity

    keys = st.sampled_from([None, Key("Person", 1, project="p"), Key("Other", "o", project="p")])
    names = st.sampled_from(_SUB_NAMES)
    return st.builds(
        make,
        keys,
        st.dictionaries(names, values, max_size=3),
        st.dictionaries(names, _MEANINGS, max_size=1),
    )


def embedded(**properties: Any) -> Entity:
    """Make an embedded entity."""
    entity = Entity()
    entity.update(properties)
    return entity


_USER = st.sampled_from([{"email": "a@b.c", "auth_domain": "b.c"}, {"email": "a"}, {}]).map(
    lambda properties: embedded(**properties)
)
_ONE = st.one_of(_SCALARS, _SCALARS, _USER, _embedded(st.one_of(_SCALARS, _embedded(_SCALARS))))
VALUES = st.one_of(_ONE, _ONE, st.lists(_ONE, max_size=3))
"""Any value, independent of the declared property."""


def value_message(value: Any, meaning: int | None = None, *, each: bool = False) -> Any:
    """Return a value as it is stored.

    Args:
        value: the value of a property.
        meaning: its meaning, if it has one.
        each: give the elements of a list the meaning, not the list.
    """
    entity = Entity()
    entity["value"] = value
    message = helpers.entity_to_protobuf(entity)._pb.properties["value"]
    if meaning is not None:
        items = message.array_value.values if each else [message]
        for item in items:
            item.meaning = meaning
    return message


def entity_of(kind: str, properties: dict[str, Any]) -> bytes:
    """Serialise an entity of a kind; values are as in entities, or messages."""
    message = EntityMessage()
    message.key.partition_id.project_id = "p"
    message.key.path.add(kind=kind, id=5)
    for name, value in properties.items():
        is_message = hasattr(value, "DESCRIPTOR")
        message.properties[name].CopyFrom(value if is_message else value_message(value))
    serialised: bytes = message.SerializeToString()
    return serialised


def alone(raw: bytes, *names: str) -> bytes:
    """Leave of an entity the properties ``names``."""
    message = EntityMessage.FromString(raw)
    for name in set(message.properties) - set(names):
        del message.properties[name]
    serialised: bytes = message.SerializeToString(deterministic=True)
    return serialised


def names_in(raw: bytes) -> list[str]:
    """Return the names of the properties of an entity."""
    return sorted(EntityMessage.FromString(raw).properties)


def _faults() -> list[Any]:
    """Values that the stock client refuses to convert."""
    untyped, late, late_with_meaning, without_path, discordant = (ValueMessage() for _ in range(5))
    late.timestamp_value.seconds = late_with_meaning.timestamp_value.seconds = 10**15
    late_with_meaning.meaning = 22
    without_path.key_value.partition_id.project_id = "p"
    discordant.array_value.values.add(integer_value=1, exclude_from_indexes=True)
    discordant.array_value.values.add(integer_value=1)
    return [untyped, late, late_with_meaning, without_path, discordant]


FAULTS = _faults()


_CHANGES = st.sampled_from(["set", "set", "set", "delete", "meaning", "fault"])
_FAULTS = st.sampled_from(FAULTS)
_MEANINGS_OR_NONE = st.one_of(st.none(), _MEANINGS)
_BOOLEAN = st.booleans()
_ONE_IN_TEN = st.sampled_from([False] * 9 + [True])


# Generated models have ever new names.
@functools.lru_cache(256)
def _changed_names(names: tuple[str, ...]) -> SearchStrategy[list[str]]:
    """Names of properties, of parts of them, and names that no model has."""
    known = st.sampled_from(names)
    dotted = st.builds("{}.{}".format, known, st.sampled_from(_SUB_NAMES))
    anywhere = st.one_of(known, known, dotted, st.sampled_from(_UNKNOWN_NAMES))
    return st.lists(anywhere, min_size=1, max_size=4, unique=True)


@st.composite
def changed(draw: DrawFn, raw: bytes, names: Sequence[str], *, faulty: bool = False) -> bytes:
    """Change some properties of an entity: those that its model knows by ``names``, and others.

    Args:
        draw: hypothesis's.
        raw: a serialised entity.
        names: names of the model's properties.
        faulty: give some properties values that the stock client refuses to convert.
    """
    message = EntityMessage.FromString(raw)
    for name in draw(_changed_names(tuple(names))):
        match draw(_CHANGES):
            case "delete":
                if name in message.properties:
                    del message.properties[name]
            case "meaning":
                if name in message.properties:
                    message.properties[name].meaning = draw(_MEANINGS)
            case "fault" if faulty:
                message.properties[name].CopyFrom(draw(_FAULTS))
            case _:
                meaning = draw(_MEANINGS_OR_NONE)
                made = value_message(draw(VALUES), meaning, each=draw(_BOOLEAN))
                message.properties[name].CopyFrom(made)
    if draw(_ONE_IN_TEN):
        change_key(draw, message, message.key.path[-1], "kind")
    serialised: bytes = message.SerializeToString(deterministic=True)
    return serialised


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
    serialised=stored,
    refuses=(AttributeError, TypeError, ValueError, exceptions.BadValueError),
    without_properties=lambda kind: entity_of(kind, {}),
)


def stored_entities() -> SearchStrategy[Stored]:
    """Entities that ndb has stored, with ``legacy_data`` as in the context."""
    return shapes.stored_entities(LIBRARY)


def changed_entities(*, faulty: bool = False) -> SearchStrategy[Stored]:
    """Entities that ndb has stored, with any change that another program could make."""
    return shapes.changed_entities(LIBRARY, functools.partial(changed, faulty=faulty))
