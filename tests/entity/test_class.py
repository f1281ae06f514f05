"""Changes that an application makes to the class of entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from google.cloud.datastore.entity import Entity

from lazyentity import LazyEntity
from tests.support.stock import stock_entity
from tests.support.strategies.samples import PLAIN


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

    def of(kind: Any) -> Any:
        return type("Own", (kind,), {"__getitem__": lambda _entity, _name: "its own"})

    stock = of(Entity)()
    stock.update(stock_entity(PLAIN))
    expected = operation(stock)
    lazy, read = of(lazy_type).from_bytes(PLAIN), of(lazy_type).from_bytes(PLAIN)
    read._decode_all("this test")
    assert operation(lazy) == operation(read) == expected


def test_another_class(lazy_type: type[LazyEntity]) -> None:
    """An entity's class cannot be assigned; an instance of another class can be made from it."""

    class Own(Entity):
        pass

    own_class: Any = Own
    lazy, stock = lazy_type.from_bytes(PLAIN), stock_entity(PLAIN)
    stock.__class__ = own_class
    with pytest.raises(TypeError, match="object layout differs"):
        lazy.__class__ = own_class
    own = own_class(key=lazy.key, exclude_from_indexes=tuple(lazy.exclude_from_indexes))
    own.update(lazy)
    assert (own.key, dict(own)) == (stock.key, dict(stock))
