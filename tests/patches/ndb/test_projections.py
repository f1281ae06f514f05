"""Projections: ndb makes their models of the messages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Dotted, Item, Loose, Shape


class TestProjections:
    """Projections: of them, ndb sees the messages."""

    @pytest.mark.parametrize(
        "projection",
        [
            ["number"],
            ["number", "t", "ratio", "flag"],
            [Item.text, Item.number],
            ["tags", "number"],
            ["moment", "zoned", "day", "hour"],
            ["where", "reference"],
            ["references"],
            ["shouted", "computed"],
            ["nothing"],
            ["generic"],
            ["generics"],
        ],
        ids=repr,
    )
    def test_properties(self, loopback_sides: Sides, projection: Any) -> None:
        loopback_sides.check(lambda: Item.query().fetch(projection=projection), lazy=False)

    @pytest.mark.parametrize(
        "projection",
        [
            ["address.street"],
            ["number", "address.street", "address.c"],
            ["addresses.street", "addresses.c"],
            ["site.name", "site.address.c"],
            ["site.numbers"],
        ],
        ids=repr,
    )
    def test_parts_of_structured_properties(self, loopback_sides: Sides, projection: Any) -> None:
        loopback_sides.check(lambda: Item.query().fetch(projection=projection), lazy=False)

    @pytest.mark.parametrize(
        "projection",
        [
            ["address.street"],
            ["number", "address.street", "address.c"],
            ["as.street", "as.c"],
            [Dotted.address.street, Dotted.addresses.city],
        ],
        ids=repr,
    )
    def test_dotted_names(self, loopback_sides: Sides, projection: Any) -> None:
        loopback_sides.check(lambda: Dotted.query().fetch(projection=projection), lazy=False)

    @pytest.mark.parametrize("projection", [["number"], ["class", "number"]], ids=repr)
    def test_polymodel(self, loopback_sides: Sides, projection: Any) -> None:
        loopback_sides.check(lambda: Shape.query().fetch(projection=projection), lazy=False)

    def test_expando(self, loopback_sides: Sides) -> None:
        loopback_sides.check(lambda: Loose.query().fetch(projection=["number"]), lazy=False)

    def test_distinct(self, sides: Sides) -> None:
        sides.check(
            lambda: [
                Item.query(projection=["parity"], distinct=True).fetch(),
                Item.query(projection=["parity", "number"], distinct_on=["parity"]).fetch(),
                Item.query(group_by=["parity"], projection=["parity"]).fetch(),
            ],
            lazy=False,
        )

    def test_ordered_and_filtered(self, sides: Sides) -> None:
        sides.check(
            lambda: Item.query(Item.number > 2).order(-Item.number).fetch(projection=["number"]),
            lazy=False,
        )

    def test_are_not_in_the_cache_of_the_context(self, sides: Sides) -> None:
        def both() -> Any:
            projected = Item.query().order(Item.number).fetch(1, projection=["number"])[0]
            whole = projected.key.get()
            return [storages(projected) <= {"dict", "LazyValues"}, projected is whole, whole.text]

        sides.check(both)

    def test_put_is_refused(self, loopback_sides: Sides) -> None:
        loopback_sides.check(
            lambda: Item.query().fetch(1, projection=["number"])[0].put(), works=False
        )

    def test_reading_what_was_not_projected_is_refused(self, loopback_sides: Sides) -> None:
        loopback_sides.check(
            lambda: Item.query().fetch(1, projection=["number"])[0].text, works=False
        )
