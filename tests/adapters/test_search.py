"""The search for entities in values: the backend's and the reference find the same ones."""

from __future__ import annotations

import dataclasses
import gc
from collections import OrderedDict, namedtuple
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pydantic
import pydantic_core
import pytest
from hypothesis import given, strategies as st

import lazyentity
from lazyentity import LazyEntity
from lazyentity._environment import native_without_client
from lazyentity.patches.adapters import contents
from lazyentity.search import decode_in_any
from tests.adapters.uses import RAW, Holder

contents.register()

_native = native_without_client()
_of_backend: Any = decode_in_any if _native is None else _native.decode_in_place


@pytest.fixture(params=["backend", "reference"])
def search(request: pytest.FixtureRequest) -> Any:
    """The search of the backend that serves, and the one in Python."""
    return _of_backend if request.param == "backend" else decode_in_any


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")

    held: Any


class Struct(msgspec.Struct):
    held: Any
    other: Any = None


@dataclasses.dataclass
class Slots:
    __slots__ = ("held", "unset")

    held: Any


class Plain:
    """Its attributes are not looked at."""

    def __init__(self, held: Any) -> None:
        self.held = held


class _List(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError("no code of the application is run")


class _Dict(dict[str, Any]):
    def __getattribute__(self, name: str) -> Any:
        raise AssertionError("no code of the application is run")


Pair = namedtuple("Pair", "first second")  # a subclass of tuple, the plainest

CONTAINERS: dict[str, Any] = {
    "list": lambda held: [1, held],
    "tuple": lambda held: ("x", held),
    "dict": lambda held: {"x": None, "held": held},
    "subclass of list": lambda held: _List([held]),
    "subclass of tuple": lambda held: Pair(1, held),
    "subclass of dict": lambda held: _Dict(held=held),
    "OrderedDict": lambda held: OrderedDict(held=held),
    "dataclass": lambda held: Holder(held, []),
    "dataclass with slots": Slots,
    "model": lambda held: Model.model_construct(held=held),
    "extra of a model": lambda held: Model.model_validate({"held": 1, "other": held}),
    "struct": lambda held: Struct(1, held),
    "arguments": lambda held: pydantic_core.ArgsKwargs((), {"x": held}),
    "object array": lambda held: np.array([held, None], dtype=object),
    "frame": lambda held: pd.DataFrame({"cell": [held]}),
}


@pytest.mark.parametrize("contain", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_containers(search: Any, contain: Any) -> None:
    entity = LazyEntity.from_bytes(RAW)
    for value in (contain(entity), [contain([entity])]):
        assert search(value) is True
    assert set(lazyentity.decoded(entity)) == set(entity)
    assert set(lazyentity.decoded(entity["inner"])) == {"deep"}
    assert [len(lazyentity.decoded(each)) for each in entity["inners"]] == [2, 2]
    assert search(contain(1)) is False


def test_after_the_sentinel_itself(search: Any) -> None:
    """Code in C that gets it from a dict's storage may hand it on."""
    entity = LazyEntity.from_bytes(RAW)
    values = [*dict.values(entity)]
    # A class is remembered once an attribute was looked up in it.
    assert not hasattr(type(values[0]), "nothing")
    search(values)
    assert search(entity)
    assert lazyentity.decoded(entity) == tuple(entity)


def test_other_objects_are_not_looked_into(search: Any) -> None:
    entity = LazyEntity.from_bytes(RAW)
    for value in (Plain(entity), [Plain(entity)], iter([entity]), {"x": lambda: entity}):
        assert search(value) is False
    assert lazyentity.decoded(entity) == ()


def test_the_descriptor_of_another_class(search: Any) -> None:
    """Its offset is one of that class, and would be read beyond the end of the record."""
    many = type("Many", (), {"__slots__": [f"s{number}" for number in range(60)]})
    record = dataclasses.make_dataclass("Record", [], namespace={"other": vars(many)["s59"]})
    assert search([record()]) is False


def _deep(entity: Any) -> Any:
    value = entity
    for _ in range(5_000):
        value = [value]
    return value


def _cycle(entity: Any) -> Any:
    value: list[Any] = []
    value += [value, {"x": value}, value, entity]
    return value


def _shared(entity: Any) -> Any:
    value: Any = [entity]
    for _ in range(60):
        value = [value, value]
    return value


@pytest.mark.parametrize("make", [_deep, _cycle, _shared])
def test_deep_and_cyclic_values(search: Any, make: Any) -> None:
    entity = LazyEntity.from_bytes(RAW)
    assert search(make(entity)) is True
    assert set(lazyentity.decoded(entity)) == set(entity)
    assert search(make(1)) is False


VALUES = st.recursive(
    st.sampled_from(["entity", None, 1, "text", 2.5, b"raw"]),
    lambda inner: (
        st.tuples(st.sampled_from(sorted(CONTAINERS.keys() - {"frame", "object array"})), inner)
        | st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=12,
)


def _built(recipe: Any, entities: list[Any]) -> Any:
    if recipe == "entity":
        entities.append(LazyEntity.from_bytes(RAW))
        return entities[-1]
    if isinstance(recipe, list):
        return [_built(each, entities) for each in recipe]
    if isinstance(recipe, dict):
        return {name: _built(each, entities) for name, each in recipe.items()}
    if isinstance(recipe, tuple):
        return CONTAINERS[recipe[0]](_built(recipe[1], entities))
    return recipe


@given(recipe=VALUES)
def test_both_find_the_same(recipe: Any) -> None:
    for search in (_of_backend, decode_in_any):
        entities: list[Any] = []
        assert search(_built(recipe, entities)) is bool(entities)
        for entity in entities:
            assert set(lazyentity.decoded(entity)) == set(entity)


def test_a_malformed_property(search: Any) -> None:
    """The error is that of reading it; the entity stays as it was."""
    entity = LazyEntity.from_bytes(b"\x1a\x07\x0a\x01a\x12\x02\x82\x01")
    with pytest.raises(Exception, match="'a'"):
        search([1, {"x": entity}])
    assert lazyentity.decoded(entity) == ()


def test_a_container_that_decoding_changes(search: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is freed while it is looked into."""
    value: list[Any] = []

    class Changing(LazyEntity):
        def _decode_all(self, operation: str) -> None:
            super()._decode_all(operation)
            value.clear()
            gc.collect()

    value += [[Changing.from_bytes(RAW)], {"x": Changing.from_bytes(RAW)}, [[1]]]
    assert search(value) is True


def test_a_class_that_changes(search: Any) -> None:
    """What is known of a class is forgotten when it gets the marks of a dataclass."""

    class Later:
        held: Any

        def __init__(self, held: Any) -> None:
            self.held = held

    entity = LazyEntity.from_bytes(RAW)
    value: Any = Later(entity)
    assert search([value]) is False
    dataclasses.dataclass(Later)
    assert search([value]) is True


def test_classes_are_not_kept_alive(search: Any) -> None:
    def classes() -> int:
        return sum(each.__name__ == "Short" for each in Plain.__subclasses__())

    for _ in range(5):
        kind = type("Short", (Plain,), {})
        search([kind(1)])
    del kind
    gc.collect()
    assert classes() == 0
