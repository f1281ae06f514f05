"""Lazy entities of ``api.datastore`` against the client's own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from operator import getitem
from typing import Any

import pytest
from google.appengine.api import datastore, datastore_errors, datastore_types
from hypothesis import given

from lazyentity.codec.undecoded import UNDECODED
from tests.patches.appengine.sides import alone, described, lazy, outcome, stock
from tests.patches.appengine.strategies import (
    EntityProto,
    Property,
    Value,
    entity_protos,
    malformed,
    reference,
)
from tests.support import hostile


def entity_proto(*properties: Any, raw: Any = ()) -> Any:
    """Make an entity of properties."""
    made = EntityProto(property=properties, raw_property=raw)
    made.key.CopyFrom(reference("app", "", [("Kind", 1)]))
    made.entity_group.element.add().CopyFrom(made.key.path.element[0])
    return made


@given(message=entity_protos())
def test_is_the_entity_of_the_client(index_type: Any, message: Any) -> None:
    expected = outcome(partial(stock, message))
    entity = lazy(message, index_type)
    assert entity is not None
    assert isinstance(entity, datastore.Entity)
    if type(expected[0]) is list:
        assert list(entity) == [name for name, _ in expected[0]]
        assert outcome(lambda: entity) == expected
    else:
        # Of several properties that cannot be read, the client may meet another one first.
        with pytest.raises(datastore_errors.Error):
            entity.items()


@given(message=malformed)
def test_a_property_that_cannot_be_read_leaves_the_others_readable(
    index_type: Any, message: Any
) -> None:
    entity = lazy(message, index_type)
    if entity is None:
        return
    for name in list(entity):
        expected = outcome(lambda name=name: stock(alone(message, name))[name])
        assert outcome(partial(getitem, entity, name)) == expected
        # Again, which a failure must not change.
        assert outcome(partial(getitem, entity, name)) == expected


@given(message=malformed)
def test_both_backends_index_the_same(message: Any) -> None:
    from tests.patches.appengine.conftest import INDEXES

    raw = message.SerializePartialToString()
    made = [index.of(raw) for index in INDEXES.values()]
    assert len({None if index is None else index.names for index in made}) == 1
    for index in made:
        if index is not None:
            assert index.raw_names() == {each.name for each in message.raw_property}
            assert index.has_meaning(18) == any(
                each.meaning == 18 for each in [*message.property, *message.raw_property]
            )
            assert index.key() == message.key.SerializeToString()
            for name in index.names:
                expected = alone(message, name)
                merged = EntityProto.FromString(index.fields([name]))
                merged.key.CopyFrom(message.key)
                assert merged == expected


@given(message=entity_protos())
def test_methods(index_type: Any, message: Any) -> None:
    entity, expected = lazy(message, index_type), outcome(lambda: stock(message))
    if type(expected[0]) is not list:
        return
    plain = stock(message)
    for method in (
        "app", "namespace", "kind", "is_saved", "is_projection", "key", "parent", "entity_group",
        "unindexed_properties", "ToXml", "ToPb", "_ToPb", "copy", "keys", "values", "items",
        "__repr__", "__len__",
    ):  # fmt: skip
        assert outcome(_listed(entity, method)) == outcome(_listed(plain, method)), method
    assert (entity == plain, plain == entity, entity != plain) == (
        plain == stock(message), plain == stock(message), plain != stock(message),
    )  # fmt: skip


def _listed(entity: Any, method: str) -> Any:
    def call() -> Any:
        result = getattr(entity, method)()
        return list(map(list, result)) if method == "items" else _as_list(result)

    return call


def _as_list(result: Any) -> Any:
    return list(result) if type(result).__name__ in ("dict_keys", "dict_values") else result


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_copies_and_pickles_are_stock(index_type: Any, protocol: int) -> None:
    message = entity_proto(
        Property(name="a", multiple=False, value=Value(int64Value=7)),
        Property(name="b", multiple=True, value=Value(stringValue=b"x")),
        raw=[
            Property(name="t", multiple=False, meaning=Property.TEXT, value=Value(stringValue=b"y"))
        ],
    )
    duplicates: list[Callable[[Any], Any]] = [
        copy.copy,
        copy.deepcopy,
        lambda one: pickle.loads(pickle.dumps(one, protocol)),
    ]
    for duplicate in duplicates:
        made = duplicate(lazy(message, index_type))
        expected = duplicate(stock(message))
        assert type(made) is datastore.Entity
        assert described(made) == described(expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda kind: kind("Kind", name="n", _app="app", namespace="", unindexed_properties=["a"]),
        lambda kind: kind("Kind", parent=datastore.Entity("P", id=1, _app="app"), _app="app"),
        lambda kind: kind(""),
    ],
)
def test_is_constructed_as_the_client_s(index_type: Any, make: Callable[[Any], Any]) -> None:
    """By code that calls the class of an entity which it has read."""
    kind = type(lazy(entity_proto(), index_type))
    assert outcome(lambda: make(kind)) == outcome(lambda: make(datastore.Entity))
    made = outcome(lambda: make(kind))
    if isinstance(made, list):
        entity, plain = make(kind), make(datastore.Entity)
        for each in (entity, plain):
            each["a"] = 5
        assert described(entity.ToPb()) == described(plain.ToPb())
        assert described(copy.deepcopy(entity)) == described(plain)


def test_attributes_are_those_of_the_client_s(index_type: Any) -> None:
    message = entity_proto(
        Property(name="a", multiple=False, meaning=18, value=Value(int64Value=7)),
        raw=[Property(name="b", multiple=False, value=Value(int64Value=7))],
    )
    entity, plain = lazy(message, index_type), stock(message)
    for each in (entity, plain):
        each.extra = 1
    assert described(entity) == described(plain)
    assert vars(entity).keys() == vars(plain).keys()
    if hasattr(plain, "__getstate__"):
        assert entity.__getstate__().keys() == plain.__getstate__().keys()
    for each in (entity, plain):
        each.__dict__ = {"_Entity__key": plain.key(), "other": 2}
        assert (each.other, each.key()) == (2, plain.key())
        assert not hasattr(each, "extra")


def test_reads_are_lazy(index_type: Any) -> None:
    entity = lazy(
        entity_proto(
            Property(name="a", multiple=False, value=Value(int64Value=7)),
            Property(name="b", multiple=True, value=Value(stringValue=b"x")),
        ),
        index_type,
    )
    assert dict.__getitem__(entity, "a") is UNDECODED
    assert entity["a"] == 7
    assert dict.__getitem__(entity, "b") is UNDECODED
    assert entity["b"] == ["x"]
    assert entity["b"] is entity["b"]


def test_errors_name_key_and_property(index_type: Any) -> None:
    entity = lazy(
        entity_proto(
            Property(
                name="bad", multiple=False, meaning=Property.GD_WHEN, value=Value(stringValue=b"x")
            ),
            Property(name="good", multiple=False, value=Value(int64Value=7)),
        ),
        index_type,
    )
    with pytest.raises(datastore_errors.Error, match=r"corrupt|converting") as caught:
        entity["bad"]
    told = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "'bad'" in told
    assert "Kind" in told
    assert entity["good"] == 7
    with pytest.raises(datastore_errors.Error):
        entity.items()


def test_values_are_validated_when_they_are_assigned(index_type: Any) -> None:
    message = entity_proto(Property(name="a", multiple=False, value=Value(int64Value=7)))
    for assign in (
        lambda entity: entity.__setitem__("a", object()),
        lambda entity: entity.__setitem__("", 1),
        lambda entity: entity.update({"a": 1, "b": ()}),
        lambda entity: entity.setdefault("b", object()),
        lambda entity: entity.setdefault("a", 9),
        lambda entity: entity.pop("a"),
        lambda entity: entity.pop("z", None),
        lambda entity: entity.popitem(),
        lambda entity: entity.get("a"),
        lambda entity: entity | {"b": 1},
        lambda entity: {"b": 1} | entity,
        lambda entity: entity.__ior__({"b": object}),
        lambda entity: entity.clear(),
    ):
        made, expected = lazy(message, index_type), stock(message)
        results = outcome(partial(assign, made)), outcome(partial(assign, expected))
        assert str(results[0]) == str(results[1]) or _masked(results[0]) == _masked(results[1])
        assert described(made) == described(expected)


def _masked(result: Any) -> str:
    import re

    return re.sub(r"0x[0-9a-f]+", "", str(result))


@given(message=entity_protos())
def test_writes_what_was_not_read_as_it_came(index_type: Any, message: Any) -> None:
    if type(outcome(lambda: stock(message))[0]) is not list:
        return
    entity, plain = lazy(message, index_type), stock(message)
    names = sorted(entity)
    for changed in names[::2]:
        entity[changed], plain[changed] = 5, 5
    entity["new"] = plain["new"] = datastore_types.Text("new")
    if isinstance(outcome(plain._ToPb), tuple):
        # The client reads some values of projections that it cannot write.
        assert outcome(entity._ToPb) == outcome(plain._ToPb)
        return
    sent, expected = entity._ToPb(), plain._ToPb()
    assert sent.key == expected.key
    assert sent.entity_group == expected.entity_group
    assert described(alone(sent, "new")) == described(alone(expected, "new"))
    for name in names:
        # A projection is not written: its message is stock's.
        came = expected if name in names[::2] or plain.is_projection() else message
        assert described(alone(sent, name)) == described(alone(came, name))
    assert [each.name for each in sent.property] == sorted(each.name for each in sent.property)
    for properties in (sent.property, sent.raw_property):
        assert [each.name for each in properties] == sorted(each.name for each in properties)


def test_changed_flags_are_written(index_type: Any) -> None:
    message = entity_proto(
        Property(name="a", multiple=False, value=Value(int64Value=7)),
        Property(name="b", multiple=False, value=Value(int64Value=8)),
        raw=[Property(name="c", multiple=False, value=Value(int64Value=9))],
    )
    entity, plain = lazy(message, index_type), stock(message)
    for each in (entity, plain):
        each.set_unindexed_properties(["b"])
    assert dict.__getitem__(entity, "a") is UNDECODED
    assert entity._ToPb() == plain._ToPb()
    assert dict.__getitem__(entity, "a") is UNDECODED


def test_too_many_indexed_properties(index_type: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datastore, "_MAX_INDEXED_PROPERTIES", 1)
    message = entity_proto(
        *(Property(name=name, multiple=False, value=Value(int64Value=7)) for name in "ab")
    )
    assert outcome(lazy(message, index_type).ToPb) == outcome(stock(message).ToPb)


@pytest.mark.parametrize("sort", hostile.VALUES)
def test_the_error_of_a_property_with_a_hostile_key(
    index_type: Any, sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is the client's, whatever texts keys and names have."""
    value = Value(stringValue=b"\xff")
    message = entity_proto(Property(name="bad", multiple=False, value=value))
    expected = outcome(lambda: stock(message))
    assert issubclass(expected[0], Exception)
    monkeypatch.setattr(datastore_types.Key, "__repr__", lambda _: repr(hostile.VALUES[sort]()))
    for name in ("bad", hostile.Name("bad")):
        assert outcome(lambda name=name: lazy(message, index_type)[name]) == expected
