"""columns() and column_batches(): the values of stock entities; the entities stay as they are."""

from __future__ import annotations

import array
import calendar
import datetime
import gc
import http
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud.datastore.entity import Entity
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from proto.datetime_helpers import DatetimeWithNanoseconds

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.plain import plain_copy
from lazyentity.readers import make_strict
from tests.backends.columns import assert_same_column, columns_of, row
from tests.conftest import BACKENDS, IMPLEMENTATIONS
from tests.entity.test_plain import DRAWN, change, plain
from tests.support import hostile
from tests.support.snapshots import Raised, outcome, snapshot
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


@settings(max_examples=50)
@given(raw=FAULTY)
def test_rows_that_cannot_be_decoded(backend: str, raw: bytes) -> None:
    """They raise as the entities whose place they take do."""
    for names in (*((name,) for name in IMPLEMENTATIONS[backend].from_bytes(raw)), ()):
        assert_same_column(backend, raw, names)


@settings(max_examples=50)
@given(raw=FAULTY)
def test_what_cannot_be_decoded(backend: str, raw: bytes) -> None:
    """An unreadable property raises as reading it does; columns of the others do not."""
    for name in IMPLEMENTATIONS[backend].from_bytes(raw):

        def read(name: str = name) -> Any:
            return [plain(IMPLEMENTATIONS[backend].from_bytes(raw)[name])]

        def column(name: str = name) -> Any:
            return columns_of(backend, [IMPLEMENTATIONS[backend].from_bytes(raw)], (name,))[name]

        expected, found = outcome(read), outcome(column)
        # Of several faults in an embedded entity, the order of its properties decides which is met.
        assert isinstance(found, Raised) == isinstance(expected, Raised)
        if not isinstance(found, Raised):
            assert snapshot(found) == snapshot(expected)


def test_entities_of_all_kinds(lazy_type: type[LazyEntity]) -> None:
    """Lazy entities of any backend and stock ones may be mixed; so may their shapes."""
    given = [
        lazy_type.from_bytes(PLAIN),
        stock_entity(RICH),
        LazyEntity.from_bytes(RICH),
        LazyEntity(),
        Entity(),
    ]
    made = lazyentity.columns(given, ["text", "number", "blob", "text"])
    assert made == {
        "text": ["Grüße", "words", "words", None, None],
        "number": [42, None, None, None, None],
        "blob": [None, b"\x00\xff", b"\x00\xff", None, None],
    }


def test_containers_are_new(lazy_type: type[LazyEntity]) -> None:
    """Embedded entities are plain dicts, also of properties that were read before."""
    entity = lazy_type.from_bytes(RICH)
    for _ in range(2):
        made = lazyentity.columns([entity], ["inner", "inners"])
        assert type(made["inner"][0]) is dict
        assert [type(item) for item in made["inners"][0]] == [dict, dict]
        made["inners"][0].clear()
        assert len(entity["inners"]) == 2


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


def test_rows_of_malformed_entities(backend: str) -> None:
    """The error comes when the row is made, as it does when an entity is."""
    with pytest.raises(DecodeError):
        row(backend, PLAIN[:-1])


def test_sentinel(lazy_type: type[LazyEntity]) -> None:
    """A sentinel that C code put into an entity is an error, and not a value."""
    entity: Any = lazy_type.from_bytes(PLAIN)
    dict.__setitem__(entity, "foreign", UNDECODED)
    stock = Entity()
    dict.__setitem__(stock, "foreign", UNDECODED)
    for holder in (entity, stock):
        with pytest.raises(TypeError, match="undecoded"):
            lazyentity.columns([holder], ["foreign"])


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


def test_bad_size() -> None:
    with pytest.raises(ValueError, match="at least one entity, not 0"):
        lazyentity.column_batches([], ["a"], 0)


def test_calls_of_the_backend(backend: str) -> None:
    """Lists that are too few or too many, and other arguments, are errors."""
    entity = IMPLEMENTATIONS[backend].from_bytes(PLAIN)
    several: list[list[list[Any]]] = [[], [[], []]]
    for made in several:
        with pytest.raises(ValueError, match="columns for 1 names"):
            BACKENDS[backend].append_columns([entity], ("text",), made, plain_copy, list)
    with pytest.raises(ValueError, match="zip"):
        BACKENDS[backend].append_columns([Entity()], ("text",), [[]], plain_copy, lambda _: [])


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


@pytest.mark.parametrize("sort", hostile.TEXTLESS)
def test_the_error_of_a_name_without_a_text(sort: str) -> None:
    """It says that names are strings."""
    with pytest.raises(TypeError, match=r"names must be strings; .* is a "):
        lazyentity.columns([], [hostile.VALUES[sort]()])
    with pytest.raises(TypeError, match="names must be several names, not the string"):
        lazyentity.columns([], hostile.Name("a"))
