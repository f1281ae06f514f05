"""Generated ``EntityProto`` messages: what servers send, and what clients must refuse."""

from __future__ import annotations

from typing import Any

from google.appengine.datastore import entity_bytes_pb2
from hypothesis import strategies as st

EntityProto: Any = entity_bytes_pb2.EntityProto
Property: Any = entity_bytes_pb2.Property
Value: Any = entity_bytes_pb2.PropertyValue

MEANINGS = Property.Meaning.values()

NAMES = st.sampled_from(["a", "b", "c.d", "c.e", "f" * 40, "été", "z"])

_INT64 = st.integers(-(2**63), 2**63 - 1)
_TEXT = st.text(max_size=20)
# A date between the years 1 and 9999, in microseconds.
_DATES = st.integers(-(10**16), 10**16)


def reference(app: str, namespace: str, path: list[tuple[str, int | str]]) -> Any:
    """Make a key as a ``Reference``."""
    made = entity_bytes_pb2.Reference(app=app)
    if namespace:
        made.name_space = namespace
    for kind, identifier in path:
        named = {"id" if isinstance(identifier, int) else "name": identifier}
        made.path.element.add(type=kind, **named)
    return made


_IDENTIFIERS: st.SearchStrategy[int | str] = st.integers(1, 2**63 - 1) | st.text(
    min_size=1, max_size=9
)
_PATHS = st.lists(
    st.tuples(st.sampled_from(["Kind", "Other", "Ä"]), _IDENTIFIERS), min_size=1, max_size=3
)
_NAMESPACES = st.sampled_from(["", "", "space"])
references = st.builds(reference, st.sampled_from(["app", "other"]), _NAMESPACES, _PATHS)


def _referring(key: Any) -> Any:
    made = Value()
    made.referencevalue.app = key.app
    if key.HasField("name_space"):
        made.referencevalue.name_space = key.name_space
    for element in key.path.element:
        added = made.referencevalue.pathelement.add(type=element.type)
        if element.HasField("id"):
            added.id = element.id
        else:
            added.name = element.name
    return made


def _user(email: str, identity: str, federated: str | None) -> Any:
    made = Value()
    made.uservalue.email = email
    made.uservalue.auth_domain = "domain"
    made.uservalue.gaiaid = 0
    if identity:
        made.uservalue.obfuscated_gaiaid = identity
    if federated is not None:
        made.uservalue.federated_identity = federated
    return made


def _point(x: float, y: float) -> Any:
    made = Value()
    made.pointvalue.x, made.pointvalue.y = x, y
    return made


_STRINGS = st.builds(lambda text: Value(stringValue=text.encode()), _TEXT)
_BYTES = st.builds(lambda raw: Value(stringValue=raw), st.binary(max_size=12))
_INTEGERS = st.builds(lambda number: Value(int64Value=number), _INT64)
_WHENS = st.builds(lambda number: Value(int64Value=number), _DATES)
_POINTS = st.builds(_point, st.floats(-90, 90), st.floats(-180, 180))
values = st.one_of(
    st.just(Value()),
    _STRINGS,
    _BYTES,
    _INTEGERS,
    st.builds(lambda flag: Value(booleanValue=flag), st.booleans()),
    st.builds(lambda real: Value(doubleValue=real), st.floats()),
    _POINTS,
    st.builds(
        _user, st.emails(), st.text(max_size=5), st.none() | st.sampled_from(["", "http://id"])
    ),
    st.builds(_referring, references),
)

# Servers send a meaning with a value of its type. 0 stands for no meaning.
_ORDINARY: list[tuple[int, st.SearchStrategy[Any]]] = [
    *((0, values) for _ in range(6)),
    (Property.GD_WHEN, _WHENS),
    (Property.TEXT, _STRINGS),
    (Property.BLOB, _BYTES),
    (Property.BYTESTRING, _BYTES),
    (Property.ATOM_CATEGORY, _STRINGS),
    (
        Property.ATOM_LINK,
        _STRINGS.map(lambda value: Value(stringValue=b"http://" + value.stringValue)),
    ),
    (Property.GD_EMAIL, _STRINGS),
    (Property.GD_PHONENUMBER, _STRINGS),
    (Property.GD_POSTALADDRESS, _STRINGS),
    (Property.GD_IM, st.just(Value(stringValue=b"http://example.com/ someone"))),
    (Property.GD_RATING, st.builds(lambda number: Value(int64Value=number), st.integers(0, 100))),
    (Property.GEORSS_POINT, _POINTS),
    (Property.BLOBKEY, _STRINGS),
    (Property.ENTITY_PROTO, st.just(Value(stringValue=EntityProto().SerializePartialToString()))),
    (Property.EMPTY_LIST, st.just(Value())),
    (Property.INDEX_VALUE, values),
]


@st.composite
def ordinary(draw: st.DrawFn) -> tuple[int, Any]:
    """A meaning, or 0, and a value of its type."""
    meaning, of_type = draw(st.sampled_from(_ORDINARY))
    return meaning, draw(of_type)


any_meaning = st.tuples(st.sampled_from([0, *MEANINGS]), values)


@st.composite
def properties(
    draw: st.DrawFn, contents: st.SearchStrategy[tuple[int, Any]]
) -> list[tuple[bool, Any]]:
    """All properties of one name, each with whether it is raw."""
    name = draw(NAMES)
    multiple = draw(st.booleans())
    made = []
    is_raw = draw(st.booleans())
    for meaning, value in draw(st.lists(contents, min_size=1, max_size=4 if multiple else 1)):
        each = Property(name=name, multiple=multiple, value=value)
        if meaning:
            each.meaning = meaning
            if draw(st.sampled_from([False, False, True])):
                each.meaning_uri = "uri"
        made.append((is_raw, each))
    return made


# Fields that no schema has: a varint, four and eight bytes, a string and a group.
UNKNOWN = [
    b"\xa0\x06\x07",
    b"\xa5\x06abcd",
    b"\xa1\x06abcdefgh",
    b"\xa2\x06\x02xy",
    b"\xa3\x06\x08\x01\xa4\x06",
]


@st.composite
def entity_protos(
    draw: st.DrawFn,
    contents: st.SearchStrategy[tuple[int, Any]] | None = None,
    *,
    names_once: bool = True,
) -> Any:
    """An entity.

    Args:
        draw: of hypothesis.
        contents: meanings with values; by default those of their type.
        names_once: whether no two properties have the same name, but for those of a list.
    """
    made = EntityProto()
    made.key.CopyFrom(draw(references))
    made.entity_group.element.add().CopyFrom(made.key.path.element[0])
    groups = draw(
        st.lists(
            properties(ordinary() if contents is None else contents),
            max_size=6,
            unique_by=(lambda group: group[0][1].name) if names_once else None,
        )
    )
    for group in groups:
        for is_raw, each in group:
            (made.raw_property if is_raw else made.property).append(each)
    if draw(st.booleans()):
        holders = [made, *made.property, *made.raw_property]
        draw(st.sampled_from(holders)).MergeFromString(draw(st.sampled_from(UNKNOWN)))
    return made


malformed = entity_protos(any_meaning | ordinary(), names_once=False)
"""Entities many of which a client refuses."""
