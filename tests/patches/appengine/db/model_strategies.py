"""Arbitrary model classes of ext.db, and entities that are stored of them or by others."""

from __future__ import annotations

import datetime
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

from google.appengine.api import datastore, datastore_types, users
from google.appengine.datastore import entity_bytes_pb2 as entity_pb2
from google.appengine.ext import db
from google.appengine.ext.db import polymodel
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.patches.models import shapes
from tests.patches.models.shapes import KIND, MOST_PROPERTIES, Stored
from tests.patches.models.sorts import Sort
from tests.patches.models.values import Values

APP = "app"


class Person(db.Model):
    """The model that references refer to."""

    name = db.StringProperty()


class Trimmed(db.StringProperty):
    """A property that overrides the conversions."""

    def validate(self, value: Any) -> Any:
        """Remove spaces."""
        value = super().validate(value)
        return value.strip() if isinstance(value, str) else value

    def make_value_from_datastore(self, value: Any) -> Any:
        """Remove a mark."""
        return value.removeprefix("*")

    def get_value_for_datastore(self, model_instance: Any) -> Any:
        """Set a mark."""
        value = super().get_value_for_datastore(model_instance)
        return None if value is None else f"*{value}"


class Noisy(db.IntegerProperty):
    """A property that sets another attribute, too."""

    def __set__(self, model_instance: Any, value: Any) -> None:
        super().__set__(model_instance, value)
        db.Model.__setattr__(model_instance, "_noise", value)


class Cached(db.Property):
    """A property that keeps what it makes in the ``__dict__``."""

    def __get__(self, model_instance: Any, model_class: Any) -> Any:
        if model_instance is None:
            return self
        attributes = model_instance.__dict__
        return ["cached", attributes.get(self._attr_name())]


def _refuse(value: Any) -> None:
    if type(value) in (int, str) and value in ("bad", -1):
        raise db.BadValueError("refused by the validator")
    if type(value) is int and value == 2**40:
        raise AttributeError("not an error of db")


_ANY = frozenset(("indexed", "required", "validator", "name"))


_TEXTS = st.sampled_from(["", "a", "bad", " spaces ", "é\U0001f600", "*mark", "x" * 20])
_BYTES = st.sampled_from([b"", b"\xff\x00", b"bad", b"text"])
_INTEGERS = st.sampled_from([0, 1, -1, 2**40, -(2**63)])
_FLOATS = st.sampled_from([0.0, -0.0, 1.5, math.inf])
_WHEN = datetime.datetime(2020, 1, 2, 3, 4, 5, 6)
_TIMES = st.sampled_from([_WHEN, datetime.datetime(1970, 1, 1), datetime.datetime.max])
_DATES = _TIMES.map(datetime.datetime.date)
_KEYS = st.sampled_from(
    [
        datastore_types.Key.from_path("Person", 1, _app=APP),
        datastore_types.Key.from_path("Person", "name", "Other", 2, _app=APP, namespace="n"),
    ]
)
_USERS = st.builds(
    users.User, st.sampled_from(["a@b.c", "d@e.f"]), st.just("b.c"), st.sampled_from([None, "7"])
)
_PLACES = st.builds(datastore_types.GeoPt, st.sampled_from([0.0, -1.5]), st.just(2.25))
_numbers = itertools.count()


def _reference(**options: Any) -> Any:
    return db.ReferenceProperty(Person, collection_name=f"set_{next(_numbers)}", **options)


def _list(item_type: type, values: Values) -> Sort:
    make = functools.partial(db.ListProperty, item_type)
    return Sort(make, st.lists(values, max_size=3), _ANY - {"required"})


_AS_IT_IS: dict[str, tuple[Callable[..., Any], Values]] = {
    "string": (db.StringProperty, _TEXTS),
    "choices": (functools.partial(db.StringProperty, choices=["a", "bad"]), st.just("a")),
    "default": (functools.partial(db.StringProperty, default="d"), _TEXTS),
    "bytes": (db.ByteStringProperty, _BYTES.map(datastore_types.ByteString)),
    "integer": (db.IntegerProperty, _INTEGERS),
    "rating": (db.RatingProperty, st.just(50).map(datastore_types.Rating)),
    "float": (db.FloatProperty, _FLOATS),
    "boolean": (db.BooleanProperty, st.booleans()),
    "time and date": (db.DateTimeProperty, _TIMES),
    "date": (db.DateProperty, _DATES),
    "time": (db.TimeProperty, _TIMES.map(datetime.datetime.time)),
    "now": (functools.partial(db.DateTimeProperty, auto_now=True), _TIMES),
    "added": (functools.partial(db.DateProperty, auto_now_add=True), _DATES),
    "user": (db.UserProperty, _USERS),
    "place": (db.GeoPtProperty, _PLACES),
    "link": (db.LinkProperty, st.just("http://a.b/c").map(datastore_types.Link)),
    "email": (db.EmailProperty, st.just("a@b").map(datastore_types.Email)),
    "category": (db.CategoryProperty, st.just("c").map(datastore_types.Category)),
    "chat": (db.IMProperty, st.just("http://x y").map(datastore_types.IM)),
    "phone": (db.PhoneNumberProperty, st.just("1").map(datastore_types.PhoneNumber)),
    "address": (db.PostalAddressProperty, st.just("s").map(datastore_types.PostalAddress)),
    "reference": (_reference, _KEYS),
    "any": (db.Property, st.one_of(_TEXTS, _INTEGERS, _PLACES)),
    "trimmed": (Trimmed, _TEXTS),
    "noisy": (Noisy, _INTEGERS),
    "cached": (Cached, _TEXTS),
}
SORTS: dict[str, Sort] = {
    **{name: Sort(make, values, _ANY) for name, (make, values) in _AS_IT_IS.items()},
    "text": Sort(db.TextProperty, _TEXTS.map(datastore_types.Text), _ANY - {"indexed"}),
    "blob": Sort(db.BlobProperty, _BYTES.map(datastore_types.Blob), _ANY - {"indexed"}),
    "strings": Sort(
        db.StringListProperty,
        st.lists(_TEXTS, max_size=3),
        frozenset(("indexed", "write_empty_list", "name")),
    ),
    "integers": _list(int, _INTEGERS),
    "dates": _list(datetime.date, _DATES),
    "texts": _list(datastore_types.Text, _TEXTS.map(datastore_types.Text)),
    "keys": _list(db.Key, _KEYS),
    "computed": Sort(
        functools.partial(db.ComputedProperty, lambda self: len(vars(self))),
        st.none(),
        frozenset(("indexed",)),
        writable=False,
    ),
}
DYNAMIC = st.one_of(
    _TEXTS,
    _INTEGERS,
    _FLOATS,
    _TIMES,
    _KEYS,
    st.booleans(),
    st.none(),
    _BYTES.map(datastore_types.Blob),
    _TEXTS.map(datastore_types.Text),
    st.lists(_TEXTS, min_size=1, max_size=2),
)
DYNAMIC_NAMES = ("dynamic", "other", "_hidden", "put", "self")

_OPTIONS: dict[str, Any] = {
    "indexed": False,
    "required": True,
    "validator": _refuse,
    "write_empty_list": True,
}


class Shape(shapes.Shape):
    @property
    def names(self) -> list[str]:
        """Names in the code, of all properties."""
        return sorted(self.model_class.properties())

    @property
    def stored_names(self) -> list[str]:
        """Names in the entities."""
        return sorted(prop.name for prop in self.model_class.properties().values())


def _properties(draw: DrawFn, prefix: str, values: dict[str, Values]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for ordinal, name in enumerate(
        draw(st.lists(st.sampled_from(sorted(SORTS)), min_size=1, max_size=MOST_PROPERTIES))
    ):
        sort = SORTS[name]
        code_name = f"{prefix}{ordinal}"
        chosen = draw(st.sets(st.sampled_from(sorted(sort.options)), max_size=1))
        options = {option: _OPTIONS.get(option, f"s{code_name}") for option in chosen}
        made[code_name] = sort.make(**options)
        if sort.writable:
            values[code_name] = sort.values
    return made


def _define(name: str, base: Any, properties: dict[str, Any]) -> Any:
    """Define a class where pickle finds it."""
    defined = type(base)(name, (base,), {"__module__": __name__, **properties})
    globals()[name] = defined
    return defined


@st.composite
def _shapes(draw: DrawFn) -> Shape:
    """Model classes: of plain models, of hierarchies and of expandos."""
    values: dict[str, Values] = {}
    match draw(st.sampled_from(["model", "model", "poly", "expando"])):
        case "poly":
            root = _define(KIND, polymodel.PolyModel, _properties(draw, "r", values))
            defined = _define(f"{KIND}Leaf", root, _properties(draw, "p", values))
        case "expando":
            defined = _define(KIND, db.Expando, _properties(draw, "p", values))
        case _:
            defined = _define(KIND, db.Model, _properties(draw, "p", values))
    return Shape(defined, values)


def key_of(number: int = 1) -> Any:
    """Return a key of the kind of the generated classes."""
    return datastore_types.Key.from_path(KIND, number, _app=APP)


def _instance(draw: DrawFn, shape: Shape) -> Any:
    given = {}
    for name, values in shape.values.items():
        prop = shape.model_class.properties()[name]
        if prop.required or draw(st.integers(0, 3)):
            given[prop.name] = draw(values)
    instance = shape.model_class(key=key_of(), **given)
    if isinstance(instance, db.Expando):
        for name in draw(st.sets(st.sampled_from(DYNAMIC_NAMES[:2]))):
            setattr(instance, name, draw(DYNAMIC))
    return instance


@st.composite
def stored_entities(draw: DrawFn) -> Stored:
    """An entity that db has stored."""
    shape = draw(_shapes())
    try:
        entity = _instance(draw, shape)._populate_entity()
        return Stored(shape, entity._ToPb().SerializeToString())
    except (db.BadValueError, AttributeError):
        # db refuses the values.
        empty = datastore.Entity(KIND, id=1, _app=APP)
        return Stored(shape, empty._ToPb().SerializeToString())


_CHANGES = ("another value", "other field", "gone", "new", "multiple", "index value", "twice")


def _change(draw: DrawFn, proto: Any, names: list[str]) -> None:
    name = draw(st.sampled_from(names))
    change = draw(st.sampled_from(_CHANGES))
    lists = [proto.property, proto.raw_property]
    of_name = [[entry for entry in entries if entry.name == name] for entries in lists]
    others = [[entry for entry in entries if entry.name != name] for entries in lists]
    match change:
        case "another value":
            made = datastore_types.ToPropertyPb(name, draw(ANYTHING))
            of_name = [made if isinstance(made, list) else [made], []]
        case "other field":
            of_name.reverse()
        case "gone":
            of_name = [[], []]
        case "new":
            new_name = draw(st.sampled_from(DYNAMIC_NAMES))
            of_name[0].append(datastore_types.ToPropertyPb(new_name, draw(_TEXTS)))
        case "multiple":
            for entry in itertools.chain(*of_name):
                entry.multiple = not entry.multiple
        case "index value":
            for entry in of_name[0]:
                entry.meaning = entity_pb2.Property.INDEX_VALUE
        case "twice":
            of_name[0] *= 2
    for entries, kept, changed in zip(lists, others, of_name, strict=True):
        copies = [entity_pb2.Property.FromString(e.SerializeToString()) for e in (*kept, *changed)]
        del entries[:]
        entries.extend(copies)


ANYTHING: Values = st.one_of(DYNAMIC, _PLACES, _USERS, st.just([]))


@st.composite
def changed_entities(draw: DrawFn) -> Stored:
    """An entity that db has stored, changed as another program could change it."""
    stored = draw(stored_entities())
    proto = entity_pb2.EntityProto.FromString(stored.raw)
    names = [*stored.shape.stored_names, *DYNAMIC_NAMES[:2], "class"]
    for _ in range(draw(st.integers(1, 3))):
        _change(draw, proto, names)
    return Stored(stored.shape, proto.SerializeToString())


ENTITIES = st.one_of(stored_entities(), changed_entities())
