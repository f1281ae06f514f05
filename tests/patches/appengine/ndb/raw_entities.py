"""Changes of serialised entities that another program could make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.appengine.datastore.entity_bytes_pb2 import EntityProto, Property
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.patches.models import values
from tests.patches.models.changes import change_key

_SUB_NAMES = ("s", "number", "n", "h", "h.s", "homes", "homes.s", "count", "k", "class", "new")
_UNKNOWN = ("unknown", "key", "_key", "put", "_projection", " ", "class", "dynamic", "a.b", "a.a")
_MEANINGS = st.sampled_from(
    [
        Property.NO_MEANING,
        Property.NO_MEANING,
        Property.BLOB,
        Property.TEXT,
        Property.BYTESTRING,
        Property.GD_WHEN,
        Property.GEORSS_POINT,
        Property.ENTITY_PROTO,
        Property.BLOBKEY,
        Property.EMPTY_LIST,
        Property.INDEX_VALUE,
    ]
)
_CONTENTS: dict[str, values.Values] = {
    "booleanValue": st.booleans(),
    "doubleValue": values.FLOATS,
    "int64Value": st.sampled_from([0, 1, 2**60]),
    "stringValue": st.one_of(values.BLOBS, st.sampled_from([b"[1]", b"abc", "Grüße".encode()])),
}


def _fill_value(draw: DrawFn, value: Any) -> None:
    value.SetInParent()
    match draw(st.sampled_from(["none", "point", "user", "key", "several", *_CONTENTS])):
        case "none":
            pass
        case "point":
            value.pointvalue.x, value.pointvalue.y = draw(values.FLOATS), 2.0
        case "user":
            value.uservalue.email, value.uservalue.auth_domain = "a@b.c", "b.c"
            value.uservalue.gaiaid = draw(st.sampled_from([0, 5]))
        case "key":
            reference = value.referencevalue
            reference.app = draw(st.sampled_from(["app", "other"]))
            if draw(st.booleans()):
                reference.name_space = draw(st.sampled_from(["", "space"]))
            for _ in range(draw(st.integers(0, 2))):
                element = reference.pathelement.add(type="Person")
                if draw(st.booleans()):
                    element.id = draw(st.sampled_from([0, 1]))
                if draw(st.booleans()):
                    element.name = draw(st.sampled_from(["", "name"]))
            if draw(st.integers(0, 3)) == 3:
                reference.database_id = "database"
        case "several":
            for name, contents in _CONTENTS.items():
                if draw(st.booleans()):
                    setattr(value, name, draw(contents))
        case name:
            setattr(value, name, draw(_CONTENTS[name]))


def _add(draw: DrawFn, properties: Any, name: str, multiple: bool) -> None:
    made = properties.add(name=name, multiple=multiple)
    made.meaning = draw(_MEANINGS)
    if made.meaning == Property.NO_MEANING and draw(st.booleans()):
        made.ClearField("meaning")
    if draw(st.integers(0, 3)) == 3:
        made.meaning_uri = draw(st.sampled_from(["ZLIB", "other"]))
    if draw(st.integers(0, 7)) == 7:
        made.computed = draw(st.booleans())
    _fill_value(draw, made.value)


def _without(properties: Any, name: str) -> None:
    kept = [each for each in properties if each.name != name]
    del properties[:]
    properties.extend(kept)


@st.composite
def changed(draw: DrawFn, raw: bytes, names: Sequence[str]) -> bytes:
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
                    _add(draw, properties, name, multiple)
    if draw(st.integers(0, 9)) == 9:
        change_key(draw, message, message.key.path.element[-1], "type")
    serialised_message: bytes = message.SerializePartialToString()
    return serialised_message
