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

from google.cloud import ndb
from google.cloud.ndb import exceptions, model, polymodel
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.patches.ndb import raw_entities
from tests.patches.ndb.handmade import WHEN, Address, Animal, Anything, Cat, Person

KIND = "Generated"
MOST_PROPERTIES = 6

Make = Callable[..., Any]
Values = SearchStrategy[Any]


@dataclass(frozen=True)
class Sort:
    """A kind of property.

    Attributes:
        make: makes one; takes options of properties.
        values: values that can be assigned to one and stored.
        options: the options that ``make`` takes beyond ``name``.
        writable: whether it may be assigned to.
    """

    make: Make
    values: Values
    options: frozenset[str] = frozenset(("repeated", "indexed", "required", "validator"))
    writable: bool = True


# Values.

_TEXTS = st.sampled_from(["", "a", "Grüße", "x\x9c", "long " * 20])
_BLOBS = st.sampled_from(
    [b"", b"a", b"\xff\0", b"long " * 20, b"x\x9cno", zlib.compress(b"zipped")]
)
_INTEGERS = st.sampled_from([0, 1, -1, 2**40])
_FLOATS = st.sampled_from([0.0, 1.5, -2.25, float("inf")])
_JSON = st.sampled_from([None, True, 1, "text", [], [1, [None]], {"a": {"b": 1.5}}, {}])
_PICKLED = st.sampled_from([None, 1, "text", (1, b"2"), {1: {2}}, WHEN])
_KEYS = st.builds(ndb.Key, st.sampled_from(["Person", "Other"]), st.sampled_from([1, "name"]))
_USERS = st.builds(
    ndb.User, st.just("a@b.c"), st.sampled_from(["b.c", "d"]), st.sampled_from([None, "7"])
)
_TIMES = st.sampled_from(
    [WHEN, WHEN.replace(microsecond=0), datetime.datetime(1970, 1, 1), datetime.datetime(9, 9, 9)]
)
_ZONE = datetime.timezone(datetime.timedelta(hours=2))
_AWARE = _TIMES.filter(lambda when: when.year > 1).map(
    lambda when: when.replace(tzinfo=datetime.timezone.utc)
)

_GENERIC = st.one_of(_INTEGERS, _FLOATS, _TEXTS, _BLOBS, st.booleans(), _AWARE)


def _optional(values: Values) -> Values:
    return st.one_of(values, st.none())


def addresses() -> Values:
    """Sub-models without anything odd."""
    return st.builds(Address, street=_optional(_TEXTS), number=_INTEGERS, note=_optional(_TEXTS))


def people() -> Values:
    """Sub-models with a sub-model, and with a key or without."""
    keys = st.sampled_from([None, ndb_key("Person", 1), ndb_key("Person", "name")])
    return st.builds(
        lambda key, **values: Person(key=key and key(), **values),
        keys,
        name=_TEXTS,
        home=_optional(addresses()),
        photo=_optional(_BLOBS),
    )


def ndb_key(*path: Any) -> Callable[[], Any]:
    """Return a function that makes a key, which needs a context."""
    return lambda: ndb.Key(*path)


def animals() -> Values:
    """Sub-models of a hierarchy."""
    return st.one_of(
        st.builds(Animal, legs=_INTEGERS), st.builds(Cat, legs=_INTEGERS, whiskers=_INTEGERS)
    )


def expandos() -> Values:
    """Sub-models with properties that their class does not have."""
    return st.builds(Anything, known=_INTEGERS, other=_GENERIC, some=st.lists(_GENERIC, max_size=2))


# Properties.


def _strip(_: Any, value: Any) -> Any:
    return value.strip() if isinstance(value, str | bytes) else value


_PLAIN = frozenset(("repeated", "indexed", "required", "validator"))
_UNINDEXED = _PLAIN - {"indexed"}
_NONE: frozenset[str] = frozenset()


def _structured(sub_model: Any, values: Values, **fixed: Any) -> Sort:
    return Sort(lambda **o: ndb.StructuredProperty(sub_model, **fixed, **o), values, _PLAIN)


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
    "float": Sort(ndb.FloatProperty, _FLOATS),
    "boolean": Sort(ndb.BooleanProperty, st.booleans()),
    "string": Sort(ndb.StringProperty, _TEXTS),
    "choices": _fixed(ndb.StringProperty, st.sampled_from("ab"), choices=["a", "b", ""]),
    "text": Sort(ndb.TextProperty, _TEXTS, _UNINDEXED),
    "small text": _fixed(ndb.TextProperty, _TEXTS, compressed=True),
    "compressed text": Sort(model.CompressedTextProperty, _TEXTS, _UNINDEXED),
    "blob": Sort(ndb.BlobProperty, _BLOBS),
    "small blob": _fixed(ndb.BlobProperty, _BLOBS, compressed=True),
    "json": Sort(ndb.JsonProperty, _JSON),
    "small json": _fixed(ndb.JsonProperty, _JSON, compressed=True),
    "json list": _fixed(ndb.JsonProperty, st.just([1]), frozenset(), json_type=list),
    "pickle": Sort(ndb.PickleProperty, _PICKLED),
    "small pickle": _fixed(ndb.PickleProperty, _PICKLED, compressed=True),
    "place": Sort(ndb.GeoPtProperty, st.builds(ndb.GeoPt, _FLOATS, _FLOATS)),
    "key": Sort(ndb.KeyProperty, _KEYS),
    "blob key": Sort(ndb.BlobKeyProperty, st.none()),
    "user": Sort(ndb.UserProperty, _USERS),
    "datetime": Sort(ndb.DateTimeProperty, _TIMES),
    "auto": _fixed(ndb.DateTimeProperty, _TIMES, _NONE, auto_now=True),
    "auto add": _fixed(ndb.DateTimeProperty, _TIMES, _NONE, auto_now_add=True),
    "zone": _fixed(ndb.DateTimeProperty, _AWARE, _PLAIN, tzinfo=_ZONE),
    "date": Sort(ndb.DateProperty, _TIMES.map(datetime.datetime.date)),
    "time": Sort(ndb.TimeProperty, _TIMES.map(datetime.datetime.time)),
    "computed": Sort(
        lambda **o: ndb.ComputedProperty(lambda self: "p0" in self._values, **o),
        st.none(),
        frozenset(("indexed",)),
        writable=False,
    ),
    "generic": Sort(ndb.GenericProperty, _GENERIC),
    "small generic": _fixed(ndb.GenericProperty, _GENERIC, compressed=True),
    "structured": _structured(Address, addresses()),
    "deep": _structured(Person, people()),
    "expando": _structured(Anything, expandos()),
    "animal": _structured(Animal, animals()),
    "local": _local(Person, people()),
    "keyed": _local(Person, people(), keep_keys=True),
    "small local": _local(Person, people(), compressed=True),
    "local animal": _local(Animal, animals()),
    "local expando": _local(Anything, expandos()),
}

_SORTS = st.sampled_from(sorted(SORTS))
_OPTIONS: dict[str, Any] = {
    "repeated": True,
    "indexed": False,
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
        properties: Any = self.model_class._properties
        return sorted(prop._code_name for prop in properties.values())

    @property
    def stored_names(self) -> list[str]:
        """Names in the entities."""
        return sorted(self.model_class._properties)


def _properties(draw: DrawFn, prefix: str, values: dict[str, Values]) -> Iterator[tuple[str, Any]]:
    made: list[Any] = []
    sorts = draw(st.lists(_SORTS, min_size=1, max_size=MOST_PROPERTIES, unique=True))
    for ordinal, name in enumerate(sorts):
        sort = SORTS[name]
        options: Any = {}
        for option in sorted(sort.options):
            if draw(st.integers(0, 3)) == 3 and not (
                option == "required" and "repeated" in options
            ):
                options[option] = _OPTIONS[option]
        if options.get("repeated"):
            options.pop("required", None)
        code_name = f"{prefix}{ordinal}"
        # Also names that another property has in the code.
        stored = draw(
            st.sampled_from([None, None, f"s{prefix}{ordinal}", f"{prefix}{ordinal + 1}"])
        )
        taken = {prop._name for prop in made}
        if stored is not None and stored not in taken:
            options["name"] = stored
        elif code_name in taken:
            options["name"] = f"s{prefix}{ordinal}"
        try:
            prop = sort.make(**options)
        except (TypeError, NotImplementedError):
            # ndb does not have this combination.
            prop = sort.make(name=options.get("name"))
            options.pop("repeated", None)
        if sort.writable:
            one = sort.values
            values[code_name] = st.lists(one, max_size=3) if prop._repeated else _optional(one)
        if prop._name is None:
            prop._name = code_name
        made.append(prop)
        yield code_name, prop


def define(name: str, bases: tuple[Any, ...], namespace: dict[str, Any]) -> Any:
    """Define a class here."""
    defined = type(bases[0])(name, bases, {"__module__": __name__, **namespace})
    setattr(sys.modules[__name__], name, defined)
    return defined


def _class(draw: DrawFn, name: str, base: Any, prefix: str, values: dict[str, Values]) -> Any:
    properties = dict(_properties(draw, prefix, values))
    return define(name, (base,), properties)


@st.composite
def shapes(draw: DrawFn) -> Shape:
    """Model classes: of plain models, of hierarchies and of expandos."""
    values: dict[str, Values] = {}
    match draw(st.sampled_from(["model", "model", "model", "poly", "expando"])):
        case "poly":
            base = _class(draw, KIND, polymodel.PolyModel, "r", values)
            defined = _class(draw, f"{KIND}Leaf", base, "p", values)
            if draw(st.booleans()):
                defined = base
                values = {name: drawn for name, drawn in values.items() if name[0] == "r"}
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
    raw: bytes = model._entity_to_protobuf(instance)._pb.SerializeToString()
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
    """An entity that ndb has stored, with ``legacy_data`` as in the context."""
    shape = draw(shapes())
    try:
        raw = serialised(_instance(draw, shape))
    except (AttributeError, TypeError, ValueError, exceptions.BadValueError):
        # ndb cannot have stored a model that it fails to write.
        raw = raw_entities.without_properties(KIND)
    return Stored(shape, raw)


@st.composite
def changed_entities(draw: DrawFn, *, faulty: bool = False) -> Stored:
    """An entity that ndb has stored, with any change that another program could make."""
    stored = draw(stored_entities())
    names = [*stored.shape.stored_names, *stored.shape.names]
    return Stored(stored.shape, draw(raw_entities.changed(stored.raw, names, faulty=faulty)))
