"""Arbitrary model classes of ext.db, and entities that are stored of them or by others."""

from __future__ import annotations

import datetime
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
    """A property with conversions of its own."""

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


def _sort(make: Callable[..., Any], values: Values, options: frozenset[str] = _ANY) -> Sort:
    return Sort(make, values, options)


_TEXTS = st.sampled_from(["", "a", "bad", " spaces ", "é\U0001f600", "*mark", "x" * 20])
_BYTES = st.sampled_from([b"", b"\xff\x00", b"bad", b"text"])
_INTEGERS = st.sampled_from([0, 1, -1, 2**40, -(2**63)])
_FLOATS = st.sampled_from([0.0, -0.0, 1.5, math.inf])
_TIMES = st.sampled_from(
    [
        datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
        datetime.datetime(1970, 1, 1),
        datetime.datetime.max,
    ]
)
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
_LINKS = st.just("http://a.b/c").map(datastore_types.Link)
_PLAIN = frozenset(("required", "validator", "name"))
_numbers = itertools.count()


def _reference(**options: Any) -> Any:
    return db.ReferenceProperty(Person, collection_name=f"set_{next(_numbers)}", **options)


def _list(item_type: type, values: Values) -> Sort:
    return _sort(
        lambda **options: db.ListProperty(item_type, **options),
        st.lists(values, max_size=3),
        frozenset(("indexed", "validator", "name")),
    )


SORTS: dict[str, Sort] = {
    "string": _sort(db.StringProperty, _TEXTS),
    "choices": _sort(lambda **o: db.StringProperty(choices=["a", "bad"], **o), st.just("a")),
    "default": _sort(lambda **o: db.StringProperty(default="d", **o), _TEXTS),
    "text": _sort(db.TextProperty, _TEXTS.map(datastore_types.Text), _PLAIN),
    "blob": _sort(db.BlobProperty, _BYTES.map(datastore_types.Blob), _PLAIN),
    "bytes": _sort(db.ByteStringProperty, _BYTES.map(datastore_types.ByteString)),
    "integer": _sort(db.IntegerProperty, _INTEGERS),
    "rating": _sort(db.RatingProperty, st.just(50).map(datastore_types.Rating)),
    "float": _sort(db.FloatProperty, _FLOATS),
    "boolean": _sort(db.BooleanProperty, st.booleans()),
    "time and date": _sort(db.DateTimeProperty, _TIMES),
    "date": _sort(db.DateProperty, _TIMES.map(datetime.datetime.date)),
    "time": _sort(db.TimeProperty, _TIMES.map(datetime.datetime.time)),
    "now": _sort(lambda **o: db.DateTimeProperty(auto_now=True, **o), _TIMES),
    "added": _sort(
        lambda **o: db.DateProperty(auto_now_add=True, **o), _TIMES.map(lambda t: t.date())
    ),
    "user": _sort(db.UserProperty, _USERS),
    "place": _sort(db.GeoPtProperty, _PLACES),
    "link": _sort(db.LinkProperty, _LINKS),
    "email": _sort(db.EmailProperty, st.just("a@b").map(datastore_types.Email)),
    "category": _sort(db.CategoryProperty, st.just("c").map(datastore_types.Category)),
    "chat": _sort(db.IMProperty, st.just("http://x y").map(datastore_types.IM)),
    "phone": _sort(db.PhoneNumberProperty, st.just("1").map(datastore_types.PhoneNumber)),
    "address": _sort(db.PostalAddressProperty, st.just("s").map(datastore_types.PostalAddress)),
    "strings": _sort(
        db.StringListProperty,
        st.lists(_TEXTS, max_size=3),
        frozenset(("indexed", "write_empty_list", "name")),
    ),
    "integers": _list(int, _INTEGERS),
    "dates": _list(datetime.date, _TIMES.map(datetime.datetime.date)),
    "texts": _list(datastore_types.Text, _TEXTS.map(datastore_types.Text)),
    "keys": _list(db.Key, _KEYS),
    "reference": _sort(_reference, _KEYS),
    "computed": Sort(
        lambda **o: db.ComputedProperty(lambda self: len(vars(self)), **o),
        st.none(),
        frozenset(("indexed",)),
        writable=False,
    ),
    "any": _sort(db.Property, st.one_of(_TEXTS, _INTEGERS, _PLACES)),
    "trimmed": _sort(Trimmed, _TEXTS),
    "noisy": _sort(Noisy, _INTEGERS),
    "cached": _sort(Cached, _TEXTS),
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


def serialised(entity: Any) -> bytes:
    """Serialise an entity of api.datastore as it is stored."""
    raw: bytes = entity._ToPb().SerializeToString()
    return raw


def empty_entity(*properties: Any) -> entity_pb2.EntityProto:
    """Return an entity that has properties given as ``(name, value)``."""
    entity = datastore.Entity(KIND, id=1, _app=APP)
    entity.update(dict(properties))
    return entity._ToPb()


@st.composite
def stored_entities(draw: DrawFn) -> Stored:
    """An entity that db has stored."""
    shape = draw(_shapes())
    try:
        raw = serialised(_instance(draw, shape)._populate_entity())
    except (db.BadValueError, AttributeError):
        # db refuses the values.
        raw = empty_entity().SerializeToString()
    return Stored(shape, raw)


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
