"""Generated ``EntityProto`` messages, and the stock and the lazy entity of each to compare."""

from __future__ import annotations

from typing import Any

from google.appengine.api import datastore, datastore_types, users
from google.appengine.datastore import entity_bytes_pb2
from google.protobuf.message import Message
from hypothesis import strategies as st

from lazyentity.native.backend import PropertyIndex
from lazyentity.patches.appengine.entities import LazyEntity

EntityProto: Any = entity_bytes_pb2.EntityProto
Property: Any = entity_bytes_pb2.Property
Reference: Any = entity_bytes_pb2.Reference
Value: Any = entity_bytes_pb2.PropertyValue


def prop(name: str, meaning: int = 0, *, multiple: bool = False, **value: Any) -> Any:
    """Make a property; the keyword arguments are the fields of its value."""
    made = Property(name=name, multiple=multiple, value=Value(**value))
    if meaning:
        made.meaning = meaning
    return made


def entity_proto(*properties: Any, raw: Any = (), key: Any = None) -> Any:
    """Make an entity of properties."""
    made = EntityProto(property=properties, raw_property=raw)
    made.key.CopyFrom(_reference("app", "", [("Kind", 1)]) if key is None else key)
    made.entity_group.element.add().CopyFrom(made.key.path.element[0])
    return made


def _path(pairs: Any) -> list[dict[str, Any]]:
    return [{"type": kind, "id" if isinstance(of, int) else "name": of} for kind, of in pairs]


def _reference(app: str, namespace: str, path: list[tuple[str, int | str]]) -> Any:
    return Reference(app=app, name_space=namespace or None, path={"element": _path(path)})


def _referring(app: str, namespace: str, path: list[tuple[str, int | str]]) -> Any:
    key = {"app": app, "name_space": namespace or None, "pathelement": _path(path)}
    return Value(referencevalue=key)


def _user(email: str, identity: str, federated: str | None) -> Any:
    given = {"obfuscated_gaiaid": identity or None, "federated_identity": federated}
    return Value(uservalue={"email": email, "auth_domain": "domain", "gaiaid": 0, **given})


def _of(field: str, contents: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return contents.map(lambda each: Value(**{field: each}))


_IDENTIFIERS: st.SearchStrategy[int | str] = st.integers(1, 2**63 - 1) | st.text(
    min_size=1, max_size=9
)
_KEYS = (
    st.sampled_from(["app", "other"]),
    st.sampled_from(["", "", "space"]),
    st.lists(
        st.tuples(st.sampled_from(["Kind", "Other", "Ä"]), _IDENTIFIERS), min_size=1, max_size=3
    ),
)
references = st.builds(_reference, *_KEYS)

_STRINGS = _of("stringValue", st.text(max_size=20).map(str.encode))
_BYTES = _of("stringValue", st.binary(max_size=12))
_POINTS = st.builds(
    lambda x, y: Value(pointvalue={"x": x, "y": y}), st.floats(-90, 90), st.floats(-180, 180)
)
values = st.one_of(
    st.just(Value()),
    _STRINGS,
    _BYTES,
    _of("int64Value", st.integers(-(2**63), 2**63 - 1)),
    _of("booleanValue", st.booleans()),
    _of("doubleValue", st.floats()),
    _POINTS,
    st.builds(
        _user, st.emails(), st.text(max_size=5), st.none() | st.sampled_from(["", "http://id"])
    ),
    st.builds(_referring, *_KEYS),
)

# Servers send a meaning with a value of its type. 0 stands for no meaning.
_ORDINARY: list[tuple[int, st.SearchStrategy[Any]]] = [
    *((0, values) for _ in range(6)),
    # A date between the years 1 and 9999, in microseconds.
    (Property.GD_WHEN, _of("int64Value", st.integers(-(10**16), 10**16))),
    *((meaning, _STRINGS) for meaning in (Property.TEXT, Property.ATOM_CATEGORY, Property.BLOBKEY)),
    *((meaning, _BYTES) for meaning in (Property.BLOB, Property.BYTESTRING)),
    *((meaning, _STRINGS) for meaning in (Property.GD_EMAIL, Property.GD_PHONENUMBER)),
    (Property.GD_POSTALADDRESS, _STRINGS),
    (
        Property.ATOM_LINK,
        _STRINGS.map(lambda value: Value(stringValue=b"http://" + value.stringValue)),
    ),
    (Property.GD_IM, st.just(Value(stringValue=b"http://example.com/ someone"))),
    (Property.GD_RATING, _of("int64Value", st.integers(0, 100))),
    (Property.GEORSS_POINT, _POINTS),
    (Property.ENTITY_PROTO, st.just(Value(stringValue=EntityProto().SerializePartialToString()))),
    (Property.EMPTY_LIST, st.just(Value())),
    (Property.INDEX_VALUE, values),
]
_ordinary = st.sampled_from(_ORDINARY).flatmap(lambda each: st.tuples(st.just(each[0]), each[1]))
_any_meaning = st.tuples(st.sampled_from([0, *Property.Meaning.values()]), values)


@st.composite
def _properties(
    draw: st.DrawFn, contents: st.SearchStrategy[tuple[int, Any]]
) -> list[tuple[bool, Any]]:
    """All properties with the same name, each with whether it is raw."""
    name = draw(st.sampled_from(["a", "b", "c.d", "c.e", "f" * 40, "été", "z"]))
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
_UNKNOWN = [
    b"\xa0\x06\x07",
    b"\xa5\x06abcd",
    b"\xa1\x06abcdefgh",
    b"\xa2\x06\x02xy",
    b"\xa3\x06\x08\x01\xa4\x06",
]


@st.composite
def entity_protos(
    draw: st.DrawFn,
    contents: st.SearchStrategy[tuple[int, Any]] = _ordinary,
    *,
    names_once: bool = True,
) -> Any:
    """An entity.

    Args:
        draw: of hypothesis.
        contents: meanings with values; by default the meanings of their type.
        names_once: whether no two properties have the same name, but for the items of a list.
    """
    made = entity_proto(key=draw(references))
    groups = draw(
        st.lists(
            _properties(contents),
            max_size=6,
            unique_by=(lambda group: group[0][1].name) if names_once else None,
        )
    )
    for group in groups:
        for is_raw, each in group:
            (made.raw_property if is_raw else made.property).append(each)
    if draw(st.booleans()):
        holders = [made, *made.property, *made.raw_property]
        draw(st.sampled_from(holders)).MergeFromString(draw(st.sampled_from(_UNKNOWN)))
    return made


malformed = entity_protos(_any_meaning | _ordinary, names_once=False)
"""Entities many of which a client refuses."""

# The client's own, as nothing is patched while tests are collected. In a tuple: a module that holds
# it by a name is patched too late.
_STOCK_FROM_PB = (datastore.Entity._FromPb,)


def stock(message: Any, require_valid_key: bool = True) -> Any:
    """Make a stock entity."""
    copied = EntityProto()
    copied.CopyFrom(message)
    return _STOCK_FROM_PB[0](copied, require_valid_key)


def lazy(message: Any) -> Any:
    """Make a lazy entity; None, if there is no index of its bytes."""
    index = PropertyIndex.from_bytes(message.SerializePartialToString())
    return None if index is None else LazyEntity._of(index)


def alone(message: Any, name: str) -> Any:
    """Return the entity with only the properties of that name."""
    return EntityProto(
        key=message.key,
        property=[each for each in message.property if each.name == name],
        raw_property=[each for each in message.raw_property if each.name == name],
    )


def described(value: Any) -> Any:
    """Return everything about a value, in a form that can be compared."""
    if type(value) is list:
        return [described(each) for each in value]
    if type(value) is frozenset:
        return "frozenset", sorted(value)
    if isinstance(value, users.User):
        return "user", vars(value)
    if isinstance(value, datastore_types.GeoPt):
        return "point", repr(value.lat), repr(value.lon)
    if isinstance(value, Message):
        # Unknown fields included.
        parsed = type(value).FromString(value.SerializePartialToString())
        return parsed.SerializePartialToString(deterministic=True)
    if isinstance(value, datastore.Entity):
        attributes = {name: described(each) for name, each in vars(value).items()}
        return [(name, described(each)) for name, each in value.items()], attributes
    return type(value), repr(value), getattr(value, "meaning_uri", None)


def outcome(act: Any) -> Any:
    """Return what a function gives, described, or the error: its type and first line."""
    try:
        return described(act())
    except Exception as error:  # noqa: BLE001  # it is compared
        return type(error), str(error).partition("\n")[0]


def is_made(result: Any) -> bool:
    """Whether the outcome of making an entity is an entity."""
    return type(result[0]) is list
