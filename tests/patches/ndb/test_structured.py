"""Structured properties that an entity has in parts, under dotted names, in every form of data."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import context as context_module
from hypothesis import example, given, settings, strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.patches.models.machine import run
from tests.patches.models.pairs import FEWER, is_lazy
from tests.patches.models.shapes import Shape, Stored
from tests.patches.ndb.pairs import (
    CLIENT,
    Pair,
    Twins,
    lazy_model,
    patched,
    stock_model,
    written,
)
from tests.patches.ndb.raw_entities import embedded, entity_of, names_in


class Leaf(ndb.Model):
    street = ndb.StringProperty("s")
    number = ndb.IntegerProperty(default=1)
    photo = ndb.BlobProperty(compressed=True)


class Middle(ndb.Model):
    leaf = ndb.StructuredProperty(Leaf, "l")
    name = ndb.StringProperty(required=True)


class Upper(ndb.StructuredProperty):
    """Converts the value that it reads."""

    def _from_base_type(self, value: Any) -> Any:
        if isinstance(value, Leaf):
            value.street = (value.street or "").upper()
        return value


class Storing(ndb.StructuredProperty):
    """Tells the model what it stores."""

    def _store_value(self, entity: Any, value: Any) -> None:
        super()._store_value(entity, value)
        entity.stored = self._name


class Holder(ndb.Model):
    plain = ndb.IntegerProperty()
    leaf = ndb.StructuredProperty(Leaf)
    middle = ndb.StructuredProperty(Middle, "m", indexed=False)
    leaves = ndb.StructuredProperty(Leaf, "ls", repeated=True)
    middles = ndb.StructuredProperty(Middle, repeated=True)
    upper = Upper(Leaf)
    storing = Storing(Leaf)
    some = ndb.StructuredProperty(Leaf, default=Leaf(street="default"))


class FreeHolder(ndb.Expando):
    leaf = ndb.StructuredProperty(Leaf)
    leaves = ndb.StructuredProperty(Leaf, "ls", repeated=True)


class Built(ndb.Model):
    """Has structured values from its constructor, which get the parts of the entity."""

    leaf = ndb.StructuredProperty(Leaf)
    leaves = ndb.StructuredProperty(Leaf, "ls", repeated=True)
    middle = ndb.StructuredProperty(Middle, "m")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.leaf = Leaf(street="built", number=5)
        self.leaves = [Leaf(street="first")]


_LEAF = ("s", "number", "street", "nowhere", "photo")
_MIDDLE = ("name", "l", *(f"l.{name}" for name in _LEAF))
_PARTS = {
    **dict.fromkeys(("leaf", "ls", "upper", "storing", "some"), _LEAF),
    **dict.fromkeys(("m", "middles", "middle"), _MIDDLE),
    "dynamic": ("x",),
}
NAMES = [f"{head}.{part}" for head, parts in _PARTS.items() for part in parts]
_SCALARS = st.one_of(
    st.none(), st.none(), st.integers(-3, 3), st.text("ab", max_size=2), st.binary(max_size=2)
)
_COLUMNS = st.one_of(_SCALARS, st.lists(_SCALARS, max_size=3))


def serialised(kind: str, properties: dict[str, Any]) -> bytes:
    """Serialise an entity with the properties in this order."""
    return entity_of(kind, {}) + b"".join(
        # Without its key, each is a piece of the message.
        entity_of(kind, {name: value})[len(entity_of(kind, {})) :]
        for name, value in properties.items()
    )


_WHOLE: SearchStrategy[Any] = st.one_of(
    st.none(),
    st.just([]),
    st.builds(embedded, s=st.text("ab", max_size=2), number=st.none() | st.integers(0, 3)),
    st.just([embedded(s="x"), embedded(number=2)]),
)


@st.composite
def entities(draw: DrawFn) -> dict[str, Any]:
    """The properties of an entity: parts that fit each other and parts that do not, in any order.

    Old programs left out parts, wrote columns of different lengths, and nulls for sub-entities.
    """
    heads = draw(st.lists(st.sampled_from(sorted(_PARTS)), min_size=1, max_size=3, unique=True))
    names = draw(
        st.lists(
            st.sampled_from([name for name in NAMES if name.partition(".")[0] in heads]),
            min_size=1,
            max_size=5,
            unique=True,
        )
    )
    found: dict[str, Any] = {name: draw(_COLUMNS) for name in names}
    if draw(st.booleans()):
        found["plain"] = 1
    if draw(st.sampled_from([False, False, False, True])):
        found[draw(st.sampled_from(sorted(_PARTS)))] = draw(_WHOLE)
    return dict(draw(st.permutations(sorted(found.items()))))


_LEAVES = st.builds(Leaf, street=st.sampled_from(["new", None]), number=st.just(9))
_VALUES: dict[str, SearchStrategy[Any]] = {
    "leaf": st.none() | _LEAVES,
    "leaves": st.lists(_LEAVES, max_size=2),
    "middle": st.builds(Middle, leaf=_LEAVES, name=st.just("name")),
}
_STORED = st.sampled_from([Holder, Holder, FreeHolder, Built]).flatmap(
    lambda kind: entities().map(
        lambda found: Stored(Shape(kind, _VALUES), serialised(kind.__name__, found))
    )
)
_BOTH = Stored(
    Shape(Holder, _VALUES), serialised("Holder", {"leaf": embedded(number=2), "leaf.s": "a"})
)
"""A property that is there as a whole and in parts."""


class StructuredTwins(Twins):
    entities = _STORED


@pytest.mark.usefixtures("either_context")
def test_operations_in_any_order() -> None:
    """Of a model, of its sub-models and of both, as with stock ndb."""
    run(StructuredTwins)


@pytest.mark.usefixtures("either_context")
@settings(FEWER, max_examples=200)
@given(stored=_STORED)
@example(stored=_BOTH)
def test_all_parts(stored: Stored) -> None:
    """Read at once, and written."""
    Pair.assumed(stored.raw).agree(written)


@pytest.mark.usefixtures("either_context")
@FEWER
@given(stored=_STORED)
def test_stored_entities_are_read_lazily(stored: Stored) -> None:
    """The reasons for which ndb itself makes a model are few, and read nothing else before."""
    lazy, properties = Pair.assumed(stored.raw).lazy, names_in(stored.raw)
    heads = {name.partition(".")[0] for name in properties if "." in name}
    known = type(lazy)._properties
    by_code_name = {prop._code_name: name for name, prop in known.items()}
    if is_lazy(lazy):
        assert not heads & set(properties) & set(known)
        built = {"leaf", "ls"} if isinstance(lazy, Built) else set()
        assert set(lazy._values._undecoded()) >= set(lazy._values) - built
    else:
        reasons = [
            bool(heads & set(properties) & set(known)),
            any(head not in known and head in by_code_name for head in {*heads, *properties}),
            isinstance(lazy, FreeHolder) and not heads <= set(known),
            # ndb merges the parts into a default, and calls what stores a value.
            "some" in heads,
            "storing" in {*heads, *properties},
        ]
        assert any(reasons)


def test_reading_one_property_makes_no_other() -> None:
    with CLIENT.context():
        lazy = lazy_model(serialised("Holder", {"plain": 1, "leaf.s": "a", "ls.s": ["b"]}))
        with patched():
            assert lazy.plain == 1
            assert lazy.leaf.street == "a"
    assert lazy._values._undecoded() == ["ls"]


@pytest.mark.parametrize("kind", ["Holder", "Built"])
def test_keys_are_of_the_context_that_made_the_model(kind: str) -> None:
    """A sub-model gets a key of the namespace in which the model was made, read where it may be."""
    raw = serialised(kind, {"leaf.s": "a", "ls.s": ["b", "c"]})
    with CLIENT.context(namespace="there"):
        stock, lazy = stock_model(raw), lazy_model(raw)

    def keys(entity: Any) -> Any:
        return [
            (sub.key._key.flat_path, sub.key.namespace(), sub.key.project(), sub.key.database())
            for sub in (entity.leaf, *entity.leaves)
            if sub.key
        ]

    assert context_module.get_context(False) is None
    with patched():
        found = keys(lazy)
    assert found == keys(stock)
    assert {namespace for _, namespace, _, _ in found} == {"there"}

    with CLIENT.context(namespace="there"):
        lazy = lazy_model(raw)
    with CLIENT.context(namespace="here"), patched():
        assert keys(lazy) == found
