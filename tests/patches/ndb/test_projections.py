"""Projections: ndb makes their models of the messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Dotted, Item, Loose, Shape

PROJECTIONS: list[tuple[Any, list[Any]]] = [
    (Item, ["number"]),
    (Item, ["number", "t", "ratio", "flag"]),
    (Item, [Item.text, Item.number]),
    (Item, ["tags", "number"]),
    (Item, ["moment", "zoned", "day", "hour"]),
    (Item, ["where", "reference"]),
    (Item, ["references"]),
    (Item, ["shouted", "computed"]),
    (Item, ["nothing"]),
    (Item, ["generic"]),
    (Item, ["generics"]),
    # Parts of structured properties.
    (Item, ["address.street"]),
    (Item, ["number", "address.street", "address.c"]),
    (Item, ["addresses.street", "addresses.c"]),
    (Item, ["site.name", "site.address.c"]),
    (Item, ["site.numbers"]),
    # The same, stored by dotted names.
    (Dotted, ["address.street"]),
    (Dotted, ["number", "address.street", "address.c"]),
    (Dotted, ["as.street", "as.c"]),
    (Dotted, [Dotted.address.street, Dotted.addresses.city]),
    (Shape, ["number"]),
    (Shape, ["class", "number"]),
    (Loose, ["number"]),
]


def _id(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)


@pytest.mark.parametrize(("kind", "projection"), PROJECTIONS, ids=_id)
def test_properties(loopback_sides: Sides, kind: Any, projection: list[Any]) -> None:
    loopback_sides.check(lambda: kind.query().fetch(projection=projection), lazy=False)


def test_distinct(sides: Sides) -> None:
    sides.check(
        lambda: [
            Item.query(projection=["parity"], distinct=True).fetch(),
            Item.query(projection=["parity", "number"], distinct_on=["parity"]).fetch(),
            Item.query(group_by=["parity"], projection=["parity"]).fetch(),
        ],
        lazy=False,
    )


def test_ordered_and_filtered(sides: Sides) -> None:
    sides.check(
        lambda: Item.query(Item.number > 2).order(-Item.number).fetch(projection=["number"]),
        lazy=False,
    )


def test_are_not_in_the_cache_of_the_context(sides: Sides) -> None:
    def both() -> Any:
        projected = Item.query().order(Item.number).fetch(1, projection=["number"])[0]
        whole = projected.key.get()
        return [storages(projected) <= {"dict", "LazyValues"}, projected is whole, whole.text]

    sides.check(both)


@pytest.mark.parametrize(
    "use", [lambda one: one.put(), lambda one: one.text], ids=["put", "what was not projected"]
)
def test_refused(loopback_sides: Sides, use: Callable[[Any], Any]) -> None:
    loopback_sides.check(lambda: use(Item.query().fetch(1, projection=["number"])[0]), works=False)
