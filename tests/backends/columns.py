"""Columns of a single backend, of entities and of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lazyentity.plain import plain_copy
from tests.conftest import BACKENDS, IMPLEMENTATIONS
from tests.support.snapshots import snapshot_outcome
from tests.support.stock import stock_entity


def refuse(entity: Any) -> list[Any]:
    """Stand for the values of an entity of another backend, where there is none."""
    raise AssertionError(f"{entity!r} is of this backend")


def columns_of(
    backend: str, given: Iterable[Any], names: tuple[str, ...], other: Any = refuse
) -> dict[str, list[Any]]:
    """Return the columns that a backend makes."""
    made: list[list[Any]] = [[] for _ in names]
    BACKENDS[backend].append_columns(iter(given), names, made, plain_copy, other)
    return dict(zip(names, made, strict=True))


def row(backend: str, raw: bytes, eager: bool = False) -> Any:
    """Return what a response gives for columns in place of an entity."""
    module = BACKENDS[backend]
    reader = module.EntityReader(IMPLEMENTATIONS[backend], stock_entity, is_stock=eager)
    entity = module.EntityBytes()
    entity._receive(raw, module.ReadRpc())
    return entity.to_unboxed(reader)


def assert_same_column(backend: str, raw: bytes, names: tuple[str, ...]) -> None:
    """Check that a row has the values or the error of the entity that it takes the place of."""

    def column(make: Callable[[], Any]) -> Any:
        return snapshot_outcome(lambda: columns_of(backend, [make()], names))

    expected = column(lambda: IMPLEMENTATIONS[backend].from_bytes(raw))
    found = column(lambda: row(backend, raw))
    assert found == expected, (backend, names, found, expected)
