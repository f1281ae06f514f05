"""How lazy entities are made, their type, and their attributes."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable
from unittest import mock

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec import messages
from tests.entity.consumption import describe
from tests.support.concurrency import together
from tests.support.snapshots import outcome, snapshot, whole
from tests.support.stock import EntityMessage, in_order_of, stock_entity
from tests.support.strategies.samples import PLAIN, RICH

KEY = Key("Kind", 1, project="p")


@pytest.mark.parametrize(
    ("positional", "keywords"),
    [
        ((), {}),
        ((KEY,), {}),
        ((KEY, ("text",)), {}),
        ((), {"key": KEY, "exclude_from_indexes": ["text", "text"]}),
        ((), {"exclude_from_indexes": "text"}),
        ((KEY, (), 1), {}),
        ((), {"text": 1}),
    ],
    ids=str,
)
def test_called_like_entity(
    lazy_type: type[LazyEntity], positional: tuple[Any, ...], keywords: dict[str, Any]
) -> None:
    """Called, it takes and refuses the arguments that Entity takes and refuses."""
    expected = outcome(lambda: Entity(*positional, **keywords))
    assert describe(outcome(lambda: lazy_type(*positional, **keywords))) == describe(expected)


def test_made_by_hand_it_is_an_ordinary_entity(lazy_type: type[LazyEntity]) -> None:
    """An entity that never had bytes behaves as a new stock one does."""
    lazy, stock = lazy_type(KEY), Entity(KEY)
    for entity in (lazy, stock):
        entity["text"] = "words"
        entity.exclude_from_indexes.add("text")
    assert snapshot(lazy) == snapshot(stock)
    assert lazy == stock
    assert lazyentity.decoded(lazy) == ("text",)
    assert lazy_type.from_bytes(lazyentity.raw(lazy)) == stock


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (bytearray(PLAIN), "bytearray"),
        (memoryview(PLAIN), "memoryview"),
        ("text", "str"),
        (None, "NoneType"),
        (Entity(), "google.cloud.datastore.entity.Entity"),
    ],
    ids=["bytearray", "memoryview", "str", "None", "Entity"],
)
def test_from_bytes_of_another_type(lazy_type: type[LazyEntity], given: Any, named: str) -> None:
    """A TypeError names the type given and asks for bytes."""
    with pytest.raises(TypeError, match=r"takes bytes.* not ") as caught:
        lazy_type.from_bytes(given)
    assert str(caught.value).endswith(named)


def test_from_bytes_inside_eager(lazy_type: type[LazyEntity]) -> None:
    """A stock entity, or the client's error; threads and tasks have separate modes."""
    with lazyentity.eager():
        made: Any = lazy_type.from_bytes(RICH)
        with ThreadPoolExecutor(1) as pool:
            assert type(pool.submit(lazy_type.from_bytes, RICH).result()) is lazy_type
        unset = EntityMessage(properties={"unset": messages.Value()}).SerializeToString()
        assert describe(outcome(lazy_type.from_bytes, unset)) == describe(
            outcome(stock_entity, unset)
        )
        with pytest.raises(TypeError, match="takes bytes"):
            lazy_type.from_bytes("text")  # type: ignore[arg-type]  # refused
    assert type(made) is Entity
    assert whole(made) == whole(in_order_of(made, stock_entity(RICH)))
    assert type(lazy_type.from_bytes(RICH)) is lazy_type
    assert lazy_type.from_bytes(unset).keys() == {"unset"}


def test_from_bytes_of_malformed_bytes(lazy_type: type[LazyEntity]) -> None:
    with pytest.raises(DecodeError):
        lazy_type.from_bytes(PLAIN[:-1])


def test_kind_of_object(lazy_type: type[LazyEntity]) -> None:
    """It is an Entity and a dict, has a stock entity's attributes, and is as unhashable."""
    lazy = lazy_type.from_bytes(PLAIN)
    assert isinstance(lazy, Entity)
    assert isinstance(lazy, dict)
    assert type(lazy) is not Entity
    assert vars(lazy).keys() == vars(stock_entity(PLAIN)).keys()
    assert set(dir(stock_entity(PLAIN))) <= set(dir(lazy))
    assert weakref.ref(lazy)() is lazy
    with pytest.raises(TypeError, match="unhashable"):
        hash(lazy)


def test_subclass(lazy_type: type[LazyEntity]) -> None:
    """A subclass keeps type, attributes and ``__missing__``, and embedded entities are of it."""

    class Mine(lazy_type):  # type: ignore[misc, valid-type]  # a class only known when the test runs
        label = "mine"

        def __missing__(self, name: str) -> str:
            return f"no {name}"

        @property
        def words(self) -> Any:
            return self["text"]

    mine = Mine.from_bytes(PLAIN)
    assert type(mine) is Mine
    assert type(mine["inner"]) is Mine
    assert mine.words == "Grüße"
    assert mine.label == "mine"
    assert mine["absent"] == "no absent"
    assert "absent" not in mine
    assert mine.get("absent") is None
    assert mine == stock_entity(PLAIN)
    assert type(lazyentity.materialize(mine)) is Entity
    assert snapshot(mine) == snapshot(stock_entity(PLAIN))


def test_a_method_put_on_entity_that_lazy_entities_have_not(lazy_type: type[LazyEntity]) -> None:
    """It is called, as for a stock entity."""
    with mock.patch.object(Entity, "total", lambda entity: len(entity), create=True):
        assert lazy_type.from_bytes(PLAIN).total() == stock_entity(PLAIN).total()  # type: ignore[attr-defined]  # made here
    with mock.patch.object(Entity, "__contains__", lambda _entity, name: name == "made up"):
        for entity in (lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)):
            assert "made up" in entity
            assert "text" not in entity


def test_a_method_put_on_entity_that_lazy_entities_have(lazy_type: type[LazyEntity]) -> None:
    """The lazy entity's own method is called, because it makes reading lazy."""
    with mock.patch.object(Entity, "get", create=True) as own:
        own.return_value = "somebody's own"
        assert stock_entity(PLAIN).get("text") == "somebody's own"
        assert lazy_type.from_bytes(PLAIN).get("text") == stock_entity(PLAIN)["text"]


OPERATIONS: dict[str, Callable[[Any], object]] = {
    "copy": lambda entity: entity.copy(),
    "get": lambda entity: entity.get("text"),
    "items": lambda entity: dict(entity.items()),
    "pop": lambda entity: entity.pop("text"),
    "setdefault": lambda entity: entity.setdefault("text"),
    "values": lambda entity: sorted(map(repr, entity.values())),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_a_subclass_with_its_own_way_of_reading(
    lazy_type: type[LazyEntity], operation: Callable[[Any], object]
) -> None:
    """No other method of dict calls its ``__getitem__``, as in stock; read before or not."""

    def overriding(kind: Any) -> Any:
        return type("Own", (kind,), {"__getitem__": lambda _entity, _name: "its own"})

    stock = overriding(Entity)()
    stock.update(stock_entity(PLAIN))
    expected = operation(stock)
    lazy, read = overriding(lazy_type).from_bytes(PLAIN), overriding(lazy_type).from_bytes(PLAIN)
    read._decode_all("this test")
    assert operation(lazy) == operation(read) == expected


NAMES = ("key", "exclude_from_indexes", "_meanings")


@runtime_checkable
class WithKey(Protocol):
    key: object


@runtime_checkable
class WithAll(Protocol):
    key: object
    exclude_from_indexes: object
    _meanings: object

    def items(self) -> object: ...


@runtime_checkable
class WithMore(Protocol):
    key: object
    more: object


def test_protocols_checked_at_run_time(lazy_type: type[LazyEntity]) -> None:
    """As for stock entities, without reading any attribute."""
    entity, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for protocol in (WithKey, WithAll, WithMore):
        assert isinstance(entity, protocol) == isinstance(stock, protocol)
    for name in NAMES:
        inspect.getattr_static(entity, name)
    assert hasattr(lazy_type, "key") == hasattr(Entity, "key")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "delete", [delattr, lambda entity, name: entity.__dict__.pop(name)], ids=["delattr", "vars"]
)
def test_deleted_attributes_stay_deleted(
    lazy_type: type[LazyEntity], delete: Callable[[Any, str], object], name: str
) -> None:
    """They are not read from the bytes again, and can be set."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    for entity in (lazy, stock):
        delete(entity, name)
        assert not hasattr(entity, name)
        with pytest.raises(AttributeError):
            delattr(entity, name)
        with pytest.raises(AttributeError):
            helpers.entity_to_protobuf(entity)
    assert vars(lazy) == vars(stock)
    setattr(lazy, name, getattr(stock_entity(PLAIN), name))
    assert getattr(lazy, name) == getattr(stock_entity(PLAIN), name)


@pytest.mark.usefixtures("frequent_switches")
def test_threads_that_ask_for_the_dictionary(lazy_type: type[LazyEntity]) -> None:
    """No thread finds an attribute missing while another one completes the dictionary."""

    def read(number: int) -> None:
        for entity in entities:
            if number % 2:
                vars(entity)
            else:
                assert entity.key is not None
                assert entity._meanings is not None

    for _ in range(20):
        entities = [lazy_type.from_bytes(PLAIN) for _ in range(20)]
        together(4, read)


def _cleared(entity: Any) -> Any:
    del entity.__dict__
    return vars(entity)


REPLACED: dict[str, Callable[[Any], Any]] = {
    "some": lambda e: setattr(e, "__dict__", {"key": None, "more": 1}),
    "all": lambda e: setattr(e, "__dict__", dict(vars(stock_entity(PLAIN)))),
    "deleted": _cleared,
    "no dict": lambda e: setattr(e, "__dict__", 5),
}


@pytest.mark.parametrize("replace", REPLACED.values(), ids=REPLACED.keys())
def test_the_dictionary_is_replaced(
    lazy_type: type[LazyEntity], replace: Callable[[Any], Any]
) -> None:
    """By assigning __dict__, as jsonpickle does."""
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    assert outcome(replace, lazy) == outcome(replace, stock)
    assert vars(lazy) == vars(stock)
    for name in (*NAMES, "more"):
        assert hasattr(lazy, name) == hasattr(stock, name)
    given = {"key": stock_entity(PLAIN).key}
    lazy.__dict__ = given
    assert vars(lazy) is given
