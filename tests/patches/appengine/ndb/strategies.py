"""Model classes of any properties, and entities of them as ndb and as others have stored them.

A class is defined anew for each example, under one of a few names, and is the model of that kind
and importable from here until the next one is.
"""

from __future__ import annotations

import datetime
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from google.appengine.api import users
from google.appengine.ext import ndb
from google.appengine.ext.ndb import model, polymodel
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.patches.appengine.ndb.handmade import (
    WHEN,
    Address,
    Animal,
    Anything,
    Cat,
    Family,
    Person,
)

KIND = "Generated"
MOST_PROPERTIES = 6

Values = SearchStrategy[Any]

_TEXTS = st.sampled_from(["", "a", "Grüße", "x\x9c", "long " * 20, "\ud800"])
BLOBS = st.sampled_from([b"", b"a", b"\xff\0", b"long " * 20, b"x\x9cno", zlib.compress(b"zipped")])
_INTEGERS = st.sampled_from([0, 1, -1, 2**40])
FLOATS = st.sampled_from([0.0, 1.5, -2.25, float("inf")])
_JSON = st.sampled_from([None, True, 1, "text", [], [1, [None]], {"a": {"b": 1.5}}, {}])
_PICKLED = st.sampled_from([None, 1, "text", (1, b"2"), {1: {2}}, WHEN])
_KEYS = st.builds(
    lambda *path: ndb.Key(*path), st.sampled_from(["Person", "Other"]), st.sampled_from([1, "name"])
)
_USERS = st.builds(
    lambda domain, identifier: users.User("a@b.c", _auth_domain=domain, _user_id=identifier),
    st.sampled_from(["b.c", "d"]),
    st.sampled_from([None, "7"]),
)
_TIMES = st.sampled_from(
    [WHEN, WHEN.replace(microsecond=0), datetime.datetime(1970, 1, 1), datetime.datetime(9, 9, 9)]
)
_POINTS = st.builds(ndb.GeoPt, st.sampled_from([0.0, 1.5, -90.0]), st.sampled_from([0.0, 180.0]))
_BLOB_KEYS = st.builds(ndb.BlobKey, st.sampled_from(["a", "key"]))
_GENERIC = st.one_of(_INTEGERS, FLOATS, _TEXTS, BLOBS, st.booleans(), _TIMES, _KEYS, _POINTS)


def _optional(values: Values) -> Values:
    return st.one_of(values, st.none())


_ADDRESSES = st.builds(Address, street=_optional(_TEXTS), number=_INTEGERS, note=_optional(_TEXTS))
_PEOPLE = st.builds(
    lambda identifier, **values: Person(id=identifier, **values),
    st.sampled_from([None, 1, "name"]),
    name=_TEXTS,
    home=_optional(_ADDRESSES),
    photo=_optional(BLOBS),
)
_FAMILIES = st.builds(Family, homes=st.lists(_ADDRESSES, max_size=3), count=_optional(_INTEGERS))
_ANIMALS = st.one_of(
    st.builds(Animal, legs=_INTEGERS), st.builds(Cat, legs=_INTEGERS, whiskers=_INTEGERS)
)
_EXPANDOS = st.builds(
    Anything, known=_INTEGERS, other=_GENERIC, some=st.lists(_GENERIC, max_size=2)
)


def _strip(_: Any, value: Any) -> Any:
    return value.strip() if isinstance(value, str | bytes) else value


_PLAIN = frozenset(("repeated", "indexed", "required", "validator"))
_UNINDEXED = _PLAIN - {"indexed"}
_ONE = _UNINDEXED - {"repeated"}
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Sort:
    """A kind of property.

    Attributes:
        make: makes one; takes options of properties.
        values: values that can be assigned to one and stored.
        options: the options that ``make`` takes beyond ``name``.
        writable: whether it may be assigned to.
    """

    make: Callable[..., Any]
    values: Values
    options: frozenset[str] = _PLAIN
    writable: bool = True


def _structured(sub_model: Any, values: Values, options: frozenset[str] = _PLAIN) -> Sort:
    return Sort(lambda **o: ndb.StructuredProperty(sub_model, **o), values, options)


def _local(sub_model: Any, values: Values, **fixed: Any) -> Sort:
    return Sort(
        lambda **o: ndb.LocalStructuredProperty(sub_model, **fixed, **o), values, _UNINDEXED
    )


def _fixed(kind: Any, values: Values, options: frozenset[str] = _UNINDEXED, **fixed: Any) -> Sort:
    return Sort(lambda **o: kind(**fixed, **o), values, options)


SORTS: dict[str, Sort] = {
    "integer": Sort(ndb.IntegerProperty, _INTEGERS),
    "default": _fixed(
        ndb.IntegerProperty, _INTEGERS, frozenset(("indexed", "required")), default=7
    ),
    "float": Sort(ndb.FloatProperty, FLOATS),
    "boolean": Sort(ndb.BooleanProperty, st.booleans()),
    "string": Sort(ndb.StringProperty, _TEXTS),
    "choices": _fixed(ndb.StringProperty, st.sampled_from("ab"), choices=["a", "b", ""]),
    "text": Sort(ndb.TextProperty, _TEXTS, _UNINDEXED),
    "small text": _fixed(ndb.TextProperty, _TEXTS, compressed=True),
    "blob": Sort(ndb.BlobProperty, BLOBS),
    "small blob": _fixed(ndb.BlobProperty, BLOBS, compressed=True),
    "json": Sort(ndb.JsonProperty, _JSON, _UNINDEXED),
    "small json": _fixed(ndb.JsonProperty, _JSON, compressed=True),
    "json list": _fixed(ndb.JsonProperty, st.just([1]), _NONE, json_type=list),
    "pickle": Sort(ndb.PickleProperty, _PICKLED, _UNINDEXED),
    "place": Sort(ndb.GeoPtProperty, _POINTS),
    "key": Sort(ndb.KeyProperty, _KEYS),
    "blob key": Sort(ndb.BlobKeyProperty, _BLOB_KEYS),
    "user": Sort(ndb.UserProperty, _USERS),
    "datetime": Sort(ndb.DateTimeProperty, _TIMES),
    "auto": _fixed(ndb.DateTimeProperty, _TIMES, _NONE, auto_now=True),
    "auto add": _fixed(ndb.DateTimeProperty, _TIMES, _NONE, auto_now_add=True),
    "date": Sort(ndb.DateProperty, _TIMES.map(datetime.datetime.date)),
    "time": Sort(ndb.TimeProperty, _TIMES.map(datetime.datetime.time)),
    "computed": Sort(
        lambda **o: ndb.ComputedProperty(lambda self: b"p0" in self._values, **o),
        st.none(),
        frozenset(("indexed",)),
        writable=False,
    ),
    "generic": Sort(ndb.GenericProperty, _GENERIC),
    "small generic": _fixed(ndb.GenericProperty, _GENERIC, compressed=True),
    "empty": _fixed(ndb.StringProperty, _TEXTS, _NONE, repeated=True, write_empty_list=True),
    "structured": _structured(Address, _ADDRESSES),
    "deep": _structured(Person, _PEOPLE),
    "family": _structured(Family, _FAMILIES, _ONE),
    "expando": _structured(Anything, _EXPANDOS, _ONE),
    "animal": _structured(Animal, _ANIMALS, _ONE),
    "local": _local(Person, _PEOPLE),
    "keyed": _local(Person, _PEOPLE, keep_keys=True),
    "small local": _local(Person, _PEOPLE, compressed=True),
    "local animal": _local(Animal, _ANIMALS),
    "local expando": _local(Anything, _EXPANDOS),
}
_SORTS = st.sampled_from(sorted(SORTS))
_OPTIONS: dict[str, Any] = {
    "indexed": False,
    "repeated": True,
    "required": True,
    "validator": _strip,
}


@dataclass
class Shape:
    """A model class and the values for its properties, by the names in the code."""

    model_class: Any
    values: dict[str, Values] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names in the code, of all properties."""
        return sorted(prop._code_name for prop in self.model_class._properties.values())

    @property
    def stored_names(self) -> list[str]:
        """Names in the entities."""
        return sorted(self.model_class._properties)


def _properties(draw: DrawFn, prefix: str, values: dict[str, Values]) -> Iterator[tuple[str, Any]]:
    sorts = draw(st.lists(_SORTS, min_size=1, max_size=MOST_PROPERTIES, unique=True))
    for ordinal, name in enumerate(sorts):
        sort = SORTS[name]
        options = {
            option: _OPTIONS[option]
            for option in sorted(sort.options)
            if draw(st.integers(0, 3)) == 3
        }
        if "repeated" in options:
            options.pop("required", None)
        code_name = f"{prefix}{ordinal}"
        if draw(st.booleans()):
            options["name"] = f"s{prefix}{ordinal}"
        prop = sort.make(**options)
        if sort.writable:
            one = sort.values
            values[code_name] = st.lists(one, max_size=3) if prop._repeated else _optional(one)
        yield code_name, prop


def define(name: str, base: Any, namespace: dict[str, Any]) -> Any:
    """Define a class here."""
    defined = type(base)(name, (base,), {"__module__": __name__, **namespace})
    setattr(sys.modules[__name__], name, defined)
    return defined


def _class(draw: DrawFn, name: str, base: Any, prefix: str, values: dict[str, Values]) -> Any:
    return define(name, base, dict(_properties(draw, prefix, values)))


@st.composite
def shapes(draw: DrawFn) -> Shape:
    """Model classes: of plain models, of hierarchies and of expandos."""
    values: dict[str, Values] = {}
    match draw(st.sampled_from(["model", "model", "model", "poly", "expando"])):
        case "poly":
            base = _class(draw, KIND, polymodel.PolyModel, "r", values)
            of_base = dict(values)
            defined = _class(draw, f"{KIND}Leaf", base, "p", values)
            if draw(st.booleans()):
                return Shape(base, of_base)
        case "expando":
            defined = _class(draw, KIND, model.Expando, "p", values)
            values |= {"dynamic": _GENERIC, "dynamics": st.lists(_GENERIC, max_size=2)}
        case _:
            defined = _class(draw, KIND, model.Model, "p", values)
    return Shape(defined, values)


@dataclass
class Stored:
    """An entity and the shape of its model."""

    shape: Shape
    raw: bytes


def serialised(instance: Any) -> bytes:
    """Serialise a model as ``put`` does."""
    instance._prepare_for_put()
    raw: bytes = instance._to_pb().SerializeToString()
    return raw


def _instance(draw: DrawFn, shape: Shape) -> Any:
    instance = shape.model_class(id=5)
    for name, values in shape.values.items():
        required = name in shape.names and getattr(shape.model_class, name)._required
        if required or draw(st.booleans()):
            value = draw(values.filter(lambda value: value is not None) if required else values)
            setattr(instance, name, value)
    return instance


@st.composite
def stored_entities(draw: DrawFn) -> Stored:
    """An entity that ndb has stored."""
    shape = draw(shapes())
    try:
        raw = serialised(_instance(draw, shape))
    except (AttributeError, TypeError, ValueError, ndb.model.datastore_errors.BadValueError):
        # ndb cannot have stored a model that it fails to write.
        raw = define(KIND, model.Model, {})(id=5)._to_pb().SerializeToString()
        setattr(sys.modules[__name__], KIND, shape.model_class)
        shape.model_class._fix_up_properties()
    return Stored(shape, raw)
