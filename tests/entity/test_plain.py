"""to_dict() and materialize(): plain values of entities that were read and changed before."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from hypothesis import given, strategies as st

import lazyentity
from lazyentity import LazyEntity
from lazyentity.readers import make_strict
from tests.backends.malformed import entity_of
from tests.support.snapshots import Raised, outcome, snapshot
from tests.support.stock import encoded, lazy_entities_in, stock_entity
from tests.support.strategies import Grammar, entities, wire
from tests.support.strategies.samples import PLAIN, RICH
from tests.support.strategies.schema import VALUE

VALID = entities(Grammar())
FAULTY = entities(Grammar(faulty=True))


def plain(value: Any) -> Any:
    """Return the values of a stock entity in the form that ``to_dict`` documents."""
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def _read_deep(entity: Any, name: str) -> None:
    value = entity[name]
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            dict(item)


CHANGES: dict[str, Callable[[Any, str], object]] = {
    "read": lambda entity, name: entity[name],
    "read inside": _read_deep,
    "set": lambda entity, name: entity.update({name: [{"new": 1}]}),
    "add": lambda entity, name: entity.update({f"{name}+": "more"}),
    "delete": lambda entity, name: entity.pop(name),
    "move": lambda entity, name: entity.update({name: entity.pop(name)}),
    "read the key": lambda entity, _: entity.key,
    "set the key": lambda entity, _: setattr(entity, "key", None),
    "read flags": lambda entity, _: entity.exclude_from_indexes,
    "set a flag": lambda entity, name: entity.exclude_from_indexes.add(name),
    "set flags": lambda entity, name: setattr(entity, "exclude_from_indexes", {name}),
    "read meanings": lambda entity, _: entity._meanings,
    "drop a meaning": lambda entity, name: entity._meanings.pop(name, None),
    "set a meaning": lambda entity, name: entity._meanings.update({name: (9, entity.get(name))}),
    "an attribute": lambda entity, name: setattr(entity, "remark", name),
}


def change(entity: Any, changes: list[tuple[str, int]]) -> None:
    """Make each of the changes, to the property of that number among those that are left."""
    for what, number in changes:
        # Sorted, because the order of a stock entity differs.
        names = sorted(entity)
        if names:
            CHANGES[what](entity, names[number % len(names)])


DRAWN = st.lists(st.tuples(st.sampled_from(list(CHANGES)), st.integers(0, 20)), max_size=4)


@given(raw=VALID, changes=DRAWN, data=st.data())
def test_to_dict(
    lazy_type: type[LazyEntity],
    raw: bytes,
    changes: list[tuple[str, int]],
    data: st.DataObject,
) -> None:
    """The properties of a stock entity after the same changes, or those named, in their order."""
    lazy, stock = lazy_type.from_bytes(raw), stock_entity(raw)
    for entity in (lazy, stock):
        change(entity, changes)
    before = lazyentity.decoded(lazy)
    expected = plain(stock)
    names = data.draw(st.lists(st.sampled_from(sorted(stock)))) if stock else []
    for entity in (lazy, stock):
        made = lazyentity.to_dict(entity)
        assert type(made) is dict
        assert snapshot(made) == snapshot(expected)
        assert list(made) == list(entity)
        chosen = lazyentity.to_dict(entity, *names)
        assert snapshot(chosen) == snapshot({name: expected[name] for name in names or expected})
        assert list(chosen) == list(dict.fromkeys(names or entity))
    assert lazyentity.decoded(lazy) == before


@given(raw=VALID, changes=DRAWN)
def test_materialize_after_changes(
    lazy_type: type[LazyEntity], raw: bytes, changes: list[tuple[str, int]]
) -> None:
    """A materialized entity equals a stock entity after the same changes, in the lazy order."""
    lazy, stock = lazy_type.from_bytes(raw), stock_entity(raw)
    for entity in (lazy, stock):
        change(entity, changes)
    for _ in range(2):
        made = lazyentity.materialize(lazy)
        assert type(made) is Entity
        assert snapshot(made) == snapshot(stock)
        assert list(made) == list(lazy)
        assert lazy_entities_in(made) == []


def _errors(value: Any) -> Iterator[Raised]:
    """Yield the error that is the value, or the errors of the values inside of it."""
    if isinstance(value, Raised):
        yield value
    elif isinstance(value, dict):
        for name in value:
            yield from _errors(outcome(operator.getitem, value, name))
    elif isinstance(value, list):
        for item in value:
            yield from _errors(item)


@given(raw=FAULTY)
def test_what_cannot_be_decoded(lazy_type: type[LazyEntity], raw: bytes) -> None:
    """An unreadable property raises as reading it does; others are returned if they are named."""
    for name in lazy_type.from_bytes(raw):
        read = outcome(operator.getitem, lazy_type.from_bytes(raw), name)
        made = outcome(lazyentity.to_dict, lazy_type.from_bytes(raw), name)
        # The order of upb's maps, and so that of the errors in a value, differs between processes.
        errors = list(_errors(read))
        if errors:
            assert made in errors
        else:
            assert snapshot(made) == snapshot({name: plain(read)})
    stock, lazy = outcome(stock_entity, raw), lazy_type.from_bytes(raw)
    made = outcome(lazyentity.materialize, lazy)
    assert isinstance(made, Raised) == isinstance(stock, Raised)


@pytest.mark.parametrize("name", ["missing", "", "Text", 1])
def test_a_missing_name(lazy_type: type[LazyEntity], name: Any) -> None:
    """It is a KeyError, as it is of ``entity[name]``; nothing is decoded."""
    lazy = lazy_type.from_bytes(PLAIN)
    for entity in (lazy, stock_entity(PLAIN)):
        with pytest.raises(KeyError) as caught:
            lazyentity.to_dict(entity, "text", name)
        assert caught.value.args == (name,)
    assert lazyentity.decoded(lazy) == ()


def test_nothing_mutable_is_shared(lazy_type: type[LazyEntity]) -> None:
    """A result shares nothing with the entity, after any reads, or with another result."""
    for read in ([], ["inner", "inners"]):
        for entity in (lazy_type.from_bytes(RICH), stock_entity(RICH)):
            for name in read:
                entity[name]
            made = lazyentity.to_dict(entity)
            made["inners"].append(1)
            made["inners"][0]["deep"].append(1)
            made["inner"]["new"] = 1
            del made["text"]
            assert snapshot(entity) == snapshot(stock_entity(RICH))
            assert snapshot(lazyentity.to_dict(entity)) == snapshot(plain(stock_entity(RICH)))


def test_assigned_containers(lazy_type: type[LazyEntity]) -> None:
    """Assigned entities become dicts, in lists and dicts as well; a tuple stays."""
    lazy = lazy_type.from_bytes(PLAIN)
    inner = lazy_type.from_bytes(RICH)
    lazy.update({"list": [inner, [stock_entity(RICH)]], "dict": {"a": inner}, "tuple": (1, [2])})
    made = lazyentity.to_dict(lazy, "list", "dict", "tuple")
    rich = plain(stock_entity(RICH))
    expected = {"list": [rich, [rich]], "dict": {"a": rich}, "tuple": (1, [2])}
    assert snapshot(made) == snapshot(expected)


def test_strict(lazy_type: type[LazyEntity]) -> None:
    """Prefetched properties are returned; any other is refused, as reading it is."""
    lazy = lazy_type.from_bytes(RICH)
    lazyentity.prefetch(lazy, "inner", "text")
    make_strict(lazy)
    expected = plain(stock_entity(RICH))
    made = lazyentity.to_dict(lazy, "text", "inner")
    assert made == {"text": expected["text"], "inner": expected["inner"]}
    with pytest.raises(RuntimeError, match=r"^property 'blob' of .* was not prefetched"):
        lazyentity.to_dict(lazy, "text", "blob")
    for operation in (lazyentity.to_dict, lazyentity.materialize):
        with pytest.raises(RuntimeError, match=rf"^{operation.__name__}\(\) reads all"):
            operation(lazy)
    lazyentity.prefetch(lazy, *lazy)
    assert lazyentity.to_dict(lazy) == expected
    assert snapshot(lazyentity.materialize(lazy)) == snapshot(stock_entity(RICH))
    with pytest.raises(KeyError, match="missing"):
        lazyentity.to_dict(lazy, "missing")


_OTHERS = {"key": Key("Other", 1, project="p"), "exclude_from_indexes": {"text"}, "_meanings": {}}


@pytest.mark.parametrize("act", ["delete", "set", "delete and set"])
@pytest.mark.parametrize(("name", "other"), _OTHERS.items())
def test_changed_attributes(lazy_type: type[LazyEntity], name: str, other: Any, act: str) -> None:
    """A deleted one is not read from the bytes again."""
    lazy, stock = lazy_type.from_bytes(RICH), stock_entity(RICH)
    for entity in (lazy, stock):
        if "delete" in act:
            delattr(entity, name)
        if "set" in act:
            setattr(entity, name, other)
    made = lazyentity.materialize(lazy)
    assert vars(made) == vars(stock)
    assert snapshot(dict(made)) == snapshot(dict(stock))


class _Every(set[str]):
    """Has every name."""

    def __contains__(self, name: object) -> bool:
        return True


@pytest.mark.parametrize(
    "flags",
    ["text", ["text"], ("text",), {"text": 1}.keys(), {"name": "text"}.values(), _Every()],
    ids=type,
)
def test_flags_in_any_container(lazy_type: type[LazyEntity], flags: Any) -> None:
    """Copies are written as the original, also if the client looks for names in a string."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for entity in (lazy, stock):
        entity["held"] = stock_entity(PLAIN)
        for each in (entity, entity["held"]):
            each.exclude_from_indexes = flags
    assert lazy["held"] is not None
    (part,) = lazyentity.detach([lazy], partial=True)
    dict(lazy)
    for copied in (lazyentity.materialize(lazy), *lazyentity.detach([lazy])):
        assert encoded(copied) == encoded(stock)
    for name in stock.keys() - part.keys():
        del stock[name]
    assert list(stock) == ["held"]
    assert encoded(part) == encoded(stock)


@pytest.mark.parametrize("operation", [lazyentity.to_dict, lazyentity.materialize])
def test_an_unusual_leaf_is_tried_once(
    lazy_type: type[LazyEntity],
    monkeypatch: pytest.MonkeyPatch,
    operation: Callable[[Any], Any],
) -> None:
    """An unusual value deep inside does not make every level around it try again."""
    depth = 20
    texts = [wire.delimited(VALUE.string_value, text) for text in "ab"]
    raw = entity_of("leaf", *texts)
    for _ in range(depth):
        raw = entity_of("in", wire.delimited(VALUE.entity_value, raw))
    tried: list[str] = []
    for name in ("_wire_entity", "_plain_values"):
        original: Any = getattr(lazy_type, name)

        def counted(self: Any, *args: Any, original: Any = original, name: str = name) -> Any:
            tried.append(name)
            return original(self, *args)

        monkeypatch.setattr(lazy_type, name, counted, raising=False)
    made = operation(lazy_type.from_bytes(raw))
    for _ in range(depth):
        made = made["in"]
    assert made == {"leaf": "b"}
    assert len(tried) == 1
