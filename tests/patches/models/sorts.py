"""The kinds of properties that both libraries named ndb have."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.patches.models import values as of
from tests.patches.models.handmade import Models
from tests.patches.models.values import Values, optional

PLAIN = frozenset(("repeated", "indexed", "required", "validator"))
UNINDEXED = PLAIN - {"indexed"}
NONE: frozenset[str] = frozenset()


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
    options: frozenset[str] = PLAIN
    writable: bool = True


@dataclass(frozen=True)
class Own:
    """Values that are of the library's own types, or that only one library can store."""

    texts: Values
    places: Values
    keys: Values
    blob_keys: Values
    users: Values
    dynamic: Values


def strip(_: Any, value: Any) -> Any:
    """Remove spaces; a validator."""
    return value.strip() if isinstance(value, str | bytes) else value


def fixed(kind: Any, values: Values, options: frozenset[str] = UNINDEXED, **always: Any) -> Sort:
    """Return a sort of properties that always have some options."""
    return Sort(lambda **o: kind(**always, **o), values, options)


def simple(ndb: Any, own: Own, first_name: Any) -> dict[str, Sort]:
    """Return the sorts whose values are no models.

    Args:
        ndb: the library.
        own: values of the library's types.
        first_name: the form in ``_values`` of the stored name ``p0``.
    """
    return {
        "integer": Sort(ndb.IntegerProperty, of.INTEGERS),
        "default": fixed(
            ndb.IntegerProperty, of.INTEGERS, frozenset(("indexed", "required")), default=7
        ),
        "float": Sort(ndb.FloatProperty, of.FLOATS),
        "boolean": Sort(ndb.BooleanProperty, st.booleans()),
        "string": Sort(ndb.StringProperty, own.texts),
        "choices": fixed(ndb.StringProperty, st.sampled_from("ab"), choices=["a", "b", ""]),
        "text": Sort(ndb.TextProperty, own.texts, UNINDEXED),
        "small text": fixed(ndb.TextProperty, own.texts, compressed=True),
        "blob": Sort(ndb.BlobProperty, of.BLOBS),
        "small blob": fixed(ndb.BlobProperty, of.BLOBS, compressed=True),
        "json": Sort(ndb.JsonProperty, of.JSON),
        "small json": fixed(ndb.JsonProperty, of.JSON, compressed=True),
        "json list": fixed(ndb.JsonProperty, st.just([1]), NONE, json_type=list),
        "pickle": Sort(ndb.PickleProperty, of.PICKLED),
        "place": Sort(ndb.GeoPtProperty, own.places),
        "key": Sort(ndb.KeyProperty, own.keys),
        "blob key": Sort(ndb.BlobKeyProperty, own.blob_keys),
        "user": Sort(ndb.UserProperty, own.users),
        "datetime": Sort(ndb.DateTimeProperty, of.TIMES),
        "auto": fixed(ndb.DateTimeProperty, of.TIMES, NONE, auto_now=True),
        "auto add": fixed(ndb.DateTimeProperty, of.TIMES, NONE, auto_now_add=True),
        "date": Sort(ndb.DateProperty, of.TIMES.map(datetime.datetime.date)),
        "time": Sort(ndb.TimeProperty, of.TIMES.map(datetime.datetime.time)),
        "computed": Sort(
            lambda **o: ndb.ComputedProperty(lambda self: first_name in self._values, **o),
            st.none(),
            frozenset(("indexed",)),
            writable=False,
        ),
        "generic": Sort(ndb.GenericProperty, own.dynamic),
        "small generic": fixed(ndb.GenericProperty, own.dynamic, compressed=True),
    }


def addresses(models: Models, own: Own) -> Values:
    """Return sub-models without anything odd."""
    return st.builds(
        models.Address, street=optional(own.texts), number=of.INTEGERS, note=optional(own.texts)
    )


def of_models(ndb: Any, models: Models, own: Own) -> dict[str, Sort]:
    """Return the sorts whose values are models.

    Args:
        ndb: the library.
        models: its small models.
        own: values of the library's own types.
    """
    # With a key and without.
    people = st.builds(
        lambda identifier, **values: models.Person(id=identifier, **values),
        st.sampled_from([None, 1, "name"]),
        name=own.texts,
        home=optional(addresses(models, own)),
        photo=optional(of.BLOBS),
    )
    animals = st.one_of(
        st.builds(models.Animal, legs=of.INTEGERS),
        st.builds(models.Cat, legs=of.INTEGERS, whiskers=of.INTEGERS),
    )
    # With properties that their class does not have.
    expandos = st.builds(
        models.Anything,
        known=of.INTEGERS,
        other=own.dynamic,
        some=st.lists(own.dynamic, max_size=2),
    )
    structured, local = ndb.StructuredProperty, ndb.LocalStructuredProperty
    return {
        "structured": _of(structured, models.Address, addresses(models, own), PLAIN),
        "deep": _of(structured, models.Person, people, PLAIN),
        "expando": _of(structured, models.Anything, expandos, PLAIN),
        "animal": _of(structured, models.Animal, animals, PLAIN),
        "local": _of(local, models.Person, people),
        "keyed": _of(local, models.Person, people, keep_keys=True),
        "small local": _of(local, models.Person, people, compressed=True),
        "local animal": _of(local, models.Animal, animals),
        "local expando": _of(local, models.Anything, expandos),
    }


def _of(
    kind: Any, model_class: Any, values: Values, options: frozenset[str] = UNINDEXED, **always: Any
) -> Sort:
    return Sort(lambda **o: kind(model_class, **always, **o), values, options)
