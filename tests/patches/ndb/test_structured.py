"""Structured properties that an entity has in parts, under dotted names, in every form of data."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import context as context_module
from google.cloud.ndb import exceptions, model, polymodel
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from tests.patches.models.pairs import FEWER, assigning, is_lazy, reading
from tests.patches.ndb.pairs import (
    CLIENT,
    Pair,
    fixed_now,
    lazy_model,
    patched,
    received,
    stock_model,
    written,
)
from tests.patches.ndb.raw_entities import FAULTS, entity_of
from tests.support.snapshots import Raised, outcome


class Leaf(ndb.Model):
    street = ndb.StringProperty("s")
    number = ndb.IntegerProperty(default=1)
    photo = ndb.BlobProperty(compressed=True)


class Middle(ndb.Model):
    leaf = ndb.StructuredProperty(Leaf, "l")
    name = ndb.StringProperty(required=True)


class Outer(ndb.Model):
    middle = ndb.StructuredProperty(Middle)
    leaves = ndb.StructuredProperty(Leaf, repeated=True)


class Free(ndb.Expando):
    known = ndb.IntegerProperty()


class Upper(ndb.StructuredProperty):
    """Converts the value that it reads."""

    def _from_base_type(self, value: Any) -> Any:
        if isinstance(value, Leaf):
            value.street = (value.street or "").upper()
        return value


class Holder(ndb.Model):
    plain = ndb.IntegerProperty()
    leaf = ndb.StructuredProperty(Leaf)
    middle = ndb.StructuredProperty(Middle, "m")
    outer = ndb.StructuredProperty(Outer, "o", indexed=False)
    leaves = ndb.StructuredProperty(Leaf, "ls", repeated=True)
    middles = ndb.StructuredProperty(Middle, repeated=True)
    free = ndb.StructuredProperty(Free, "f")
    frees = ndb.StructuredProperty(Free, repeated=True)
    upper = Upper(Leaf)
    local = ndb.LocalStructuredProperty(Leaf)


class FreeHolder(ndb.Expando):
    leaf = ndb.StructuredProperty(Leaf)
    leaves = ndb.StructuredProperty(Leaf, "ls", repeated=True)


class Kept(polymodel.PolyModel):
    leaf = ndb.StructuredProperty(Leaf)


class KeptMore(Kept):
    leaves = ndb.StructuredProperty(Leaf, "ls", repeated=True)
    middle = ndb.StructuredProperty(Middle, "m")


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
    "leaf": _LEAF,
    "m": _MIDDLE,
    "o": (*(f"middle.{name}" for name in _MIDDLE), *(f"leaves.{name}" for name in _LEAF)),
    "ls": _LEAF,
    "middles": _MIDDLE,
    "f": ("known", "x", "y", "x.y"),
    "frees": ("known", "x", "y"),
    "upper": _LEAF,
    "middle": _MIDDLE,
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


def embedded(**properties: Any) -> Entity:
    made = Entity()
    made.update(properties)
    return made


_WHOLE: SearchStrategy[Any] = st.one_of(
    st.none(),
    st.just([]),
    st.builds(embedded, s=st.text("ab", max_size=2), number=st.none() | st.integers(0, 3)),
    st.just([embedded(s="x"), embedded(number=2)]),
)


@st.composite
def entities(draw: DrawFn, kind: str) -> dict[str, Any]:
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
        found[draw(st.sampled_from([*_PARTS, "local"]))] = draw(_WHOLE)
    if kind == "Kept":
        found["class"] = ["Kept", "KeptMore"]
    return dict(draw(st.permutations(sorted(found.items()))))


KINDS = ["Holder", "Holder", "FreeHolder", "Kept", "Built"]
_ENTITIES = st.sampled_from(KINDS).flatmap(
    lambda kind: entities(kind).map(lambda found: (kind, found))
)


def names_of(entity: Any) -> list[str]:
    return sorted(prop._code_name for prop in type(entity)._properties.values())


@pytest.mark.usefixtures("either_context")
class TestGenerated:
    @FEWER
    @given(entity=_ENTITIES, data=st.data())
    def test_reads(self, entity: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
        """Any order of reads gives the values of stock, with their sub-models; so does the rest."""
        pair = Pair.assumed(serialised(*entity))
        for name in data.draw(st.permutations(names_of(pair.stock))):
            pair.both(reading(name))
            pair.both(reading(name))
        pair.both(lambda entity: sorted(entity._properties))
        pair.agree()

    @FEWER
    @given(entity=_ENTITIES)
    def test_writes(self, entity: tuple[str, dict[str, Any]]) -> None:
        """A model that was not read is written as stock writes it."""
        pair = Pair.assumed(serialised(*entity))
        pair.both(model._entity_to_ds_entity)
        pair.both(written)
        pair.agree()

    @FEWER
    @given(entity=_ENTITIES, data=st.data())
    def test_changes(self, entity: tuple[str, dict[str, Any]], data: st.DataObject) -> None:
        """So is one that was changed, in a sub-model and beside it."""
        pair = Pair.assumed(serialised(*entity))
        changes: list[Callable[[Any], Any]] = [
            assigning("leaf", Leaf(street="new")),
            lambda model: setattr(model.leaf, "street", "new"),
            lambda model: model.leaves.append(Leaf(number=9)),
            lambda model: delattr(model, "leaf"),
            lambda model: setattr(model.middle.leaf, "number", 7),
            lambda model: model.populate(leaf=Leaf(), leaves=[]),
            lambda model: model._values.pop("leaf", None),
        ]
        for change in data.draw(st.lists(st.sampled_from(changes), min_size=1, max_size=3)):
            pair.both(change)
        pair.both(written)
        pair.agree()

    @pytest.mark.parametrize(
        "use",
        [
            repr,
            lambda model: model.to_dict(),
            lambda model: model == copy.copy(model),
            copy.deepcopy,
            lambda model: pickle.loads(pickle.dumps(model)),
            lambda model: sorted(model._values.items(), key=lambda item: item[0]),
            lambda model: [
                prop._has_value(model, rest)
                for prop in type(model)._properties.values()
                for rest in (None, ["s"], ["name"])
                if isinstance(prop, ndb.StructuredProperty)
            ],
            lambda model: [model._clone_properties(), sorted(model._properties)],
        ],
        ids=["repr", "to_dict", "equal", "deepcopy", "pickle", "items", "has value", "clone"],
    )
    @FEWER
    @given(entity=_ENTITIES)
    def test_uses_as_a_whole(self, use: Any, entity: tuple[str, dict[str, Any]]) -> None:
        pair = Pair.assumed(serialised(*entity))
        pair.both(use)
        pair.agree()

    @FEWER
    @given(entity=_ENTITIES)
    def test_are_lazy(self, entity: tuple[str, dict[str, Any]]) -> None:
        """The reasons for which ndb itself makes a model are few, and read nothing else before."""
        kind, properties = entity
        lazy = Pair.assumed(serialised(kind, properties)).lazy
        heads = {name.partition(".")[0] for name in properties if "." in name}
        known = type(lazy)._properties
        by_code_name = {prop._code_name: name for name, prop in known.items()}
        if is_lazy(lazy):
            assert not heads & set(properties) & set(known)
            built = {"leaf", "ls"} if kind == "Built" else set()
            assert set(lazy._values._undecoded()) >= set(lazy._values) - built
        else:
            reasons = [
                bool(heads & set(properties) & set(known)),
                any(head not in known and head in by_code_name for head in {*heads, *properties}),
                kind == "FreeHolder" and not heads <= set(known),
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


def test_without_a_context_making_a_model_fails_as_in_stock() -> None:
    raw = serialised("Holder", {"leaf.s": "a"})
    for make in (stock_model, lazy_model):
        result = outcome(make, raw)
        assert isinstance(result, Raised)
        assert result.kind is exceptions.ContextError


class Defaulted(ndb.Model):
    leaf = ndb.StructuredProperty(Leaf, default=Leaf(street="default", number=3))


class Storing(ndb.StructuredProperty):
    def _store_value(self, entity: Any, value: Any) -> None:
        super()._store_value(entity, value)
        entity.stored = True


class Overriding(ndb.Model):
    leaf = Storing(Leaf)


@pytest.mark.parametrize("kind", ["Defaulted", "Overriding"])
def test_made_by_ndb(kind: str) -> None:
    with CLIENT.context(), fixed_now():
        pair = Pair.of(serialised(kind, {"leaf.number": 2, "leaf.photo": b"p"}))
        assert not is_lazy(pair.lazy)
        pair.both(lambda entity: vars(entity).get("stored"))
        pair.agree()


def test_a_default_beside_no_parts_is_lazy() -> None:
    with CLIENT.context():
        pair = Pair.of(serialised("Defaulted", {"leaf": embedded(s="x")}))
        assert is_lazy(pair.lazy)
        pair.agree()


def test_two_models_of_the_same_answer() -> None:
    """A change of a sub-model of one does not change the other."""
    raw = serialised("Holder", {"leaf.s": "a", "ls.s": ["b", "c"]})
    with CLIENT.context():
        answer = received(raw)
        with patched():
            first = model._entity_from_protobuf(answer)
            second = model._entity_from_protobuf(answer)
            first.leaf.street = first.leaves[0].street = "changed"
            first.leaves.pop()
        Pair(stock_model(raw), second).agree()


def test_a_model_outlives_the_patch() -> None:
    raw = serialised("Holder", {"leaf.s": "a", "middles.l.s": ["b", "c"], "middles.name": ["n"]})
    with CLIENT.context():
        Pair(stock_model(raw), lazy_model(raw)).agree()


def test_an_error_is_of_its_property_alone() -> None:
    """Stock raises when the model is made; the other properties are read."""
    raw = serialised("Holder", {"leaf.s": FAULTS[1], "plain": 1, "ls.s": ["b"]})
    with CLIENT.context():
        expected = outcome(stock_model, raw)
        assert isinstance(expected, Raised)
        lazy = lazy_model(raw)
        with patched():
            assert lazy.plain == 1
            assert [leaf.street for leaf in lazy.leaves] == ["b"]
            for _ in range(2):
                result = outcome(lambda: lazy.leaf)
                assert isinstance(result, Raised)
                assert result.kind is expected.kind


def test_many_parts() -> None:
    """A sub-model of thousands of parts is put together in linear time."""
    properties = {f"f.x{number}": number for number in range(3000)}
    with CLIENT.context():
        pair = Pair.of(serialised("Holder", properties))
        assert is_lazy(pair.lazy)
        pair.both(lambda entity: entity.free.x2999)
