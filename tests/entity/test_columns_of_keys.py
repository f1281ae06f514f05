"""columns() and its relatives: the column of keys, and entities that lack a property."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from google.cloud.datastore import Key
from google.cloud.datastore.entity import Entity
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyentity
from lazyentity import LazyEntity, plain
from tests.backends.columns import row
from tests.conftest import BACKENDS, IMPLEMENTATIONS
from tests.support.snapshots import snapshot
from tests.support.stock import stock_entity
from tests.support.strategies import Grammar, entities
from tests.support.strategies.samples import PLAIN

SEVERAL = st.lists(entities(Grammar(properties=3, depth=1)), max_size=4)

Form = Literal["key", "id", "path"]
FORMS: dict[Form, Callable[[Any], Any]] = {
    "key": lambda entity: entity.key,
    "id": lambda entity: entity.key and entity.key.id_or_name,
    "path": lambda entity: entity.key and entity.key.flat_path,
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(raws=SEVERAL)
def test_keys_of_stock_entities(backend: str, form: Form, raws: list[bytes]) -> None:
    """The first column has the keys of stock entities, their ids or their paths."""
    lazy: list[Entity] = [IMPLEMENTATIONS[backend].from_bytes(raw) for raw in raws]
    stock = [stock_entity(raw) for raw in raws]
    names = sorted({name for entity in stock for name in entity} - {"the key"})
    expected = [FORMS[form](entity) for entity in stock]
    for given_entities in (lazy, stock):
        made = lazyentity.columns(given_entities, names, key="the key", key_as=form)
        assert list(made) == ["the key", *names]
        assert snapshot(made.pop("the key")) == snapshot(expected)
        assert snapshot(made) == snapshot(lazyentity.columns(stock, names))


@settings(max_examples=40)
@given(raws=SEVERAL)
def test_keys_of_rows(backend: str, raws: list[bytes]) -> None:
    """They equal the keys of the entities whose place the rows take."""
    keys: list[Any] = []
    rows = [row(backend, raw) for raw in raws]
    BACKENDS[backend].append_columns(rows, (), [], plain.plain_copy, list, keys, FORMS["key"])
    assert snapshot(keys) == snapshot([stock_entity(raw).key for raw in raws])


def test_keys_as_they_are_now(lazy_type: type[LazyEntity]) -> None:
    """A key that was assigned takes the place of the received one, and None that of no key."""
    changed, without = lazy_type.from_bytes(PLAIN), lazy_type.from_bytes(PLAIN)
    changed.key = Key("Changed", "a", "Other", project="p")
    without.key = None
    given_entities = [changed, without, Entity()]
    for form, expected in (("key", changed.key), ("id", None), ("path", ("Changed", "a", "Other"))):
        made = lazyentity.columns(given_entities, [], key="k", key_as=form)  # type: ignore[arg-type]
        assert made == {"k": [expected, None, None]}


def test_batches_have_keys() -> None:
    several = [Entity(Key("A", number, project="p")) for number in (1, 2, 3)]
    batches = lazyentity.column_batches(several, [], 2, key="id", key_as="id")
    assert list(batches) == [{"id": [1, 2]}, {"id": [3]}]


def test_tables_have_keys() -> None:
    """The column has the type of its values; Arrow has none for keys."""
    several = [Entity(Key("A", number, project="p")) for number in (1, 2)]
    several[0]["a"] = 1
    frame = lazyentity.to_pandas(several, ["a"], key="id", key_as="id")
    assert frame.columns.tolist() == ["id", "a"]
    assert frame["id"].dtype == "int64"
    assert frame["id"].tolist() == [1, 2]
    keys = lazyentity.to_pandas(several, [], key="key")["key"]
    assert keys.tolist() == [entity.key for entity in several]
    pytest.importorskip("pyarrow")
    table = lazyentity.to_arrow(several, ["a"], key="id", key_as="id")
    assert table.column_names == ["id", "a"]
    assert table["id"].to_pylist() == [1, 2]
    with pytest.raises(TypeError, match=r"has values of type .*Key, which"):
        lazyentity.to_arrow(several, [], key="key")


@settings(max_examples=60)
@given(raws=SEVERAL, data=st.data())
def test_missing_properties(backend: str, raws: list[bytes], data: st.DataObject) -> None:
    """missing="raise" refuses what to_dict() of a stock entity refuses; else it changes nothing."""
    stock = [stock_entity(raw) for raw in raws]
    known = sorted({name for entity in stock for name in entity})
    # Names that all entities have are seldom drawn.
    shared = [name for name in known if all(name in entity for entity in stock)]
    names = data.draw(st.lists(st.sampled_from([*known, "missing"]), unique=True) | st.just(shared))
    lacking = [(entity, name) for entity in stock for name in names if name not in entity]
    lazy: list[Entity] = [IMPLEMENTATIONS[backend].from_bytes(raw) for raw in raws]
    for given_entities in (lazy, stock):
        if not lacking:
            assert snapshot(lazyentity.columns(given_entities, names, missing="raise")) == snapshot(
                lazyentity.columns(stock, names)
            )
            continue
        entity, name = lacking[0]
        with pytest.raises(KeyError) as raised:
            lazyentity.columns(given_entities, names, missing="raise")
        assert f"has no property {name!r}" in raised.value.args[0]
        if entity.key is not None:
            assert repr(entity.key) in raised.value.args[0]


def test_missing_properties_of_rows(backend: str) -> None:
    """The function is called with the entity whose place the row takes."""
    lacking: list[tuple[Any, str]] = []
    BACKENDS[backend].append_columns(
        [row(backend, PLAIN)],
        ("text", "nope"),
        [[], []],
        plain.plain_copy,
        list,
        refuse=lambda entity, name: lacking.append((entity.key, name)),
    )
    assert lacking == [(stock_entity(PLAIN).key, "nope")]


def test_nulls_are_not_missing(lazy_type: type[LazyEntity]) -> None:
    """A deleted property is."""
    entity = lazy_type.from_bytes(PLAIN)
    entity["number"] = None
    assert lazyentity.columns([entity], ["number"], missing="raise") == {"number": [None]}
    del entity["number"]
    tables: list[Callable[..., Any]] = [lazyentity.to_pandas, lazyentity.column_batches]
    for function in (lazyentity.columns, *tables):
        with pytest.raises(KeyError, match="has no property 'number'"):
            list(function([entity], ["number"], missing="raise"))


def test_tables_refuse_missing_properties() -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(KeyError, match="has no property 'amuont'"):
        lazyentity.to_arrow([Entity()], ["amuont"], missing="raise")


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"key": "a"}, ValueError, "key and names both have 'a'"),
        ({"key": 1}, TypeError, "the name of a column, not int"),
        ({"key": "k", "key_as": "ids"}, ValueError, "one of 'key', 'id', 'path', not 'ids'"),
        ({"missing": "rise"}, ValueError, "one of 'some', 'null', 'raise', not 'rise'"),
    ],
)
def test_bad_options(options: dict[str, Any], error: type[Exception], text: str) -> None:
    pytest.importorskip("pyarrow")
    functions: list[Callable[..., Any]] = [
        lazyentity.columns,
        lazyentity.column_batches,
        lazyentity.to_pandas,
        lazyentity.to_arrow,
    ]
    for function in functions:
        with pytest.raises(error, match=text):
            function([], ["a"], **options)
