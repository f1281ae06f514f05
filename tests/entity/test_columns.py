"""columns() and column_batches(): the values of stock entities; the entities stay as they are."""

from __future__ import annotations

import array
import calendar
import datetime
import gc
import http
import weakref
from collections.abc import Callable, Iterator
from typing import Any, Literal

import pytest
from google.cloud.datastore import Key
from google.cloud.datastore.entity import Entity
from hypothesis import given, settings, strategies as st
from proto.datetime_helpers import DatetimeWithNanoseconds

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.plain import plain_copy
from lazyentity.readers import make_strict
from tests.backends.columns import columns_of, row
from tests.conftest import BACKENDS, IMPLEMENTATIONS
from tests.entity.test_plain import DRAWN, change, plain
from tests.support.snapshots import snapshot
from tests.support.stock import stock_entity
from tests.support.strategies import Grammar, entities
from tests.support.strategies.samples import PLAIN, RICH, serialise

SEVERAL = st.lists(entities(Grammar(properties=5, depth=1)), max_size=4)
FAULTY = entities(Grammar(faulty=True))

IN_UTC = st.datetimes(timezones=st.just(datetime.timezone.utc)) | st.builds(
    DatetimeWithNanoseconds,
    *(st.integers(1, last) for last in (9999, 12, 28)),
    nanosecond=st.integers(0, 999_999_999),
    tzinfo=st.just(datetime.timezone.utc),
)
FIXED_WIDTH: dict[type, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(),
    datetime.datetime: IN_UTC,
}


class OwnDatetime(datetime.datetime):
    """Of an application."""


NOT_FIXED = (
    st.none()
    | st.sampled_from([2**63, -(2**63) - 1, "a", b"a", http.HTTPStatus.OK, [1]])
    | st.just(OwnDatetime(2024, 5, 6, tzinfo=datetime.timezone.utc))
    | st.datetimes()
    | st.datetimes(timezones=st.just(datetime.timezone(datetime.timedelta(hours=2))))
)


@settings(max_examples=40)
@given(raws=SEVERAL, changes=DRAWN, data=st.data())
def test_values_of_stock_entities(
    backend: str, raws: list[bytes], changes: list[tuple[str, int]], data: st.DataObject
) -> None:
    """The columns have the values of stock entities after the same changes; nothing is stored."""
    lazy = [IMPLEMENTATIONS[backend].from_bytes(raw) for raw in raws]
    stock = [stock_entity(raw) for raw in raws]
    for entity in (*lazy[:1], *stock[:1]):
        change(entity, changes)
    before = [lazyentity.decoded(entity) for entity in lazy]
    known = sorted({name for entity in stock for name in entity} | {"missing"})
    names = tuple(data.draw(st.lists(st.sampled_from(known), unique=True)))
    expected = {name: [plain(entity.get(name)) for entity in stock] for name in names}
    for made in (
        columns_of(backend, lazy, names),
        lazyentity.columns(lazy, names, missing="null"),
        lazyentity.columns(iter(stock), list(names), missing="null"),
    ):
        assert snapshot(made) == snapshot(expected)
        assert list(made) == list(names)
    assert [lazyentity.decoded(entity) for entity in lazy] == before


@settings(max_examples=40)
@given(raws=SEVERAL, data=st.data())
def test_rows(backend: str, raws: list[bytes], data: st.DataObject) -> None:
    """They have the values of the entities whose place they take."""
    known = sorted({name for raw in raws for name in stock_entity(raw)} | {"missing"})
    names = tuple(data.draw(st.lists(st.sampled_from(known), unique=True)))
    lazy = [IMPLEMENTATIONS[backend].from_bytes(raw) for raw in raws]
    made = columns_of(backend, [row(backend, raw) for raw in raws], names)
    assert snapshot(made) == snapshot(lazyentity.columns(lazy, names, missing="null"))
    eager = [row(backend, raw, eager=True) for raw in raws]
    stock = [stock_entity(raw) for raw in raws]

    def plain_values(entity: Any) -> list[Any]:
        assert snapshot(entity) == snapshot(stock.pop(0))
        return [plain(entity.get(name)) for name in names]

    assert snapshot(columns_of(backend, eager, names, plain_values)) == snapshot(made)
    assert stock == []


def test_batches_keep_no_entity() -> None:
    """While the caller has a batch, only the iterator can hold an entity of it."""
    given = [LazyEntity.from_bytes(serialise({"number": number})) for number in range(3)]
    alive = [weakref.ref(entity) for entity in given]
    given.reverse()
    batches = lazyentity.column_batches(iter(given.pop, None), ["number"], 3)
    assert next(batches) == {"number": [0, 1, 2]}
    gc.collect()
    assert [reference() for reference in alive] == [None, None, None]


def test_batches() -> None:
    """Entities are taken from an iterator batch by batch, each when it is asked for."""
    taken = []

    def source() -> Iterator[Entity]:
        for number in range(7):
            taken.append(number)
            yield LazyEntity.from_bytes(serialise({"number": number}))

    batches = lazyentity.column_batches(source(), ["number"], 3)
    assert taken == []
    assert next(batches) == {"number": [0, 1, 2]}
    assert taken == [0, 1, 2]
    assert list(batches) == [{"number": [3, 4, 5]}, {"number": [6]}]
    assert list(lazyentity.column_batches([], ["number"])) == []
    assert lazyentity.columns([], ["number"]) == {"number": []}


def test_a_name_that_no_entity_has(lazy_type: type[LazyEntity]) -> None:
    """It is taken for misspelt; a property that some entities have is not."""
    given: list[Any] = [lazy_type.from_bytes(PLAIN), stock_entity(RICH), lazy_type.from_bytes(RICH)]
    assert lazyentity.columns(given, ["blob", "text"])["blob"] == [None, b"\x00\xff", b"\x00\xff"]
    made: list[Any] = []
    for read in (
        lambda: lazyentity.columns(iter(given), ["text", "texd", "blop"]),
        lambda: made.extend(lazyentity.column_batches(given, ["text", "texd", "blop"], 2)),
    ):
        with pytest.raises(KeyError, match="no entity has a property 'texd' or 'blop'; correct"):
            read()
    assert len(made) == 2
    assert lazyentity.columns(given[:1], ["texd"], missing="null") == {"texd": [None]}
    assert lazyentity.columns([], ["texd"]) == {"texd": []}


def test_strict_entities(lazy_type: type[LazyEntity]) -> None:
    """A property that was not prefetched is refused, as of to_dict()."""
    entity = lazy_type.from_bytes(PLAIN)
    entity["number"]
    make_strict(entity)
    assert lazyentity.columns([entity], ["number", "missing"], missing="null") == {
        "number": [42],
        "missing": [None],
    }
    with pytest.raises(RuntimeError, match=r"property 'text' .* was not prefetched"):
        lazyentity.columns([entity], ["text"])


def test_sentinel(lazy_type: type[LazyEntity]) -> None:
    """A sentinel that C code put into an entity is an error, and not a value."""
    entity: Any = lazy_type.from_bytes(PLAIN)
    dict.__setitem__(entity, "foreign", UNDECODED)
    stock = Entity()
    dict.__setitem__(stock, "foreign", UNDECODED)
    for holder in (entity, stock):
        with pytest.raises(TypeError, match="undecoded"):
            lazyentity.columns([holder], ["foreign"])


def test_bad_size() -> None:
    with pytest.raises(ValueError, match="at least one entity, not 0"):
        lazyentity.column_batches([], ["a"], 0)


@pytest.mark.parametrize(
    ("given", "names", "text"),
    [
        ([], "amount", "not the string 'amount'"),
        ([], [1], "1 is a int"),
        ([{"a": 1}], ["a"], r"columns\(\) takes a google.cloud.datastore.Entity"),
        (LazyEntity(), ["a"], r"not one; pass \[entity\]"),
        ([None], ["a"], r"columns\(\) takes a google.cloud.datastore.Entity"),
    ],
)
def test_bad_arguments(given: Any, names: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        lazyentity.columns(given, names)
    with pytest.raises(TypeError, match=text):
        list(lazyentity.column_batches(given, names))


def _words(kind: type, values: list[Any]) -> bytes:
    if kind is bool:
        return array.array("b", values).tobytes()
    if kind is datetime.datetime:
        values = [
            calendar.timegm(value.utctimetuple()) * 1_000_000 + value.microsecond
            for value in values
        ]
    return array.array("d" if kind is float else "q", values).tobytes()


@pytest.mark.parametrize("kind", FIXED_WIDTH)
@given(data=st.data())
def test_values_of_fixed_width(backend: str, kind: type, data: st.DataObject) -> None:
    values = data.draw(st.lists(FIXED_WIDTH[kind], min_size=1, max_size=5))
    assert BACKENDS[backend].fixed_width(values) == (kind, _words(kind, values))


@given(data=st.data())
def test_values_of_other_widths(backend: str, data: st.DataObject) -> None:
    """Several types, integers that are too large and other timezones are left to the caller."""
    kinds = data.draw(st.lists(st.sampled_from([*FIXED_WIDTH]), unique=True))
    values = [data.draw(FIXED_WIDTH[kind]) for kind in kinds]
    if len(kinds) == 1:
        values.insert(data.draw(st.integers(0, 1)), data.draw(NOT_FIXED))
    assert BACKENDS[backend].fixed_width(values) is None


FEW = st.lists(entities(Grammar(properties=3, depth=1)), max_size=4)

Form = Literal["key", "id", "path"]
FORMS: dict[Form, Callable[[Any], Any]] = {
    "key": lambda entity: entity.key,
    "id": lambda entity: entity.key and entity.key.id_or_name,
    "path": lambda entity: entity.key and entity.key.flat_path,
}


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=40)
@given(raws=FEW)
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
@given(raws=FEW)
def test_keys_of_rows(backend: str, raws: list[bytes]) -> None:
    """They equal the keys of the entities whose place the rows take."""
    keys: list[Any] = []
    rows = [row(backend, raw) for raw in raws]
    BACKENDS[backend].append_columns(rows, (), [], plain_copy, list, keys, FORMS["key"])
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
@given(raws=FEW, data=st.data())
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
