"""Entities with the same names share a shape."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore.entity import Entity

from lazyentity.entity import LazyEntity
from tests.support.stock import encoded


def _key_table_bytes(mapping: Any) -> int:
    """Return the size of a dict's storage without the object itself."""
    return dict.__sizeof__(mapping) - type(mapping).__basicsize__


@pytest.mark.parametrize("size", range(60))
def test_storage_is_no_larger_than_that_of_a_dict(lazy_type: type[LazyEntity], size: int) -> None:
    """And so are the embedded entities' that make up a document."""
    values = {f"name{number}": number for number in range(size)}
    stock = Entity()
    stock.update(values)
    lazy = lazy_type.from_bytes(encoded(stock))
    assert len(lazy) == size
    assert _key_table_bytes(lazy) <= _key_table_bytes(values)


@pytest.mark.parametrize("size", range(1, 41))
def test_names_that_differ_in_one_character(lazy_type: type[LazyEntity], size: int) -> None:
    """Wherever that is, no entity is taken for one like that before it."""

    def entry(name: str) -> bytes:
        entity = Entity()
        entity[name] = name
        return encoded(entity)

    same = "n" * size
    for place in range(size):
        for name in (same, same[:place] + "m" + same[place + 1 :]):
            # After the same first name: so one is compared with the other.
            lazy = lazy_type.from_bytes(entry("first") + entry(name))
            assert dict(lazy) == {"first": "first", name: name}
