"""Queries that ndb makes several of, or whose results it filters itself."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from google.cloud import ndb

from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import ODD, Dotted, Item, Residence


class TestManyQueries:
    """Queries that ndb makes several of; it merges their results."""

    @pytest.mark.parametrize("names", [("ndb",)], ids=["ndb"])
    @pytest.mark.parametrize(
        "condition",
        [
            Item.number.IN([1, 3, 4, 100]),
            Item.tags.IN(["all", "tag 1", "tag 2"]),
            ndb.OR(Item.number == 1, ODD, Item.number > 5),
            ndb.AND(ODD, ndb.OR(Item.number < 3, Item.number > 5)),
        ],
        ids=repr,
    )
    @pytest.mark.parametrize(
        "order", [(), (Item.number,), (-Item.number,), (Item.parity, -Item.number)], ids=repr
    )
    def test_merged(self, loopback_sides: Sides, condition: Any, order: Any) -> None:
        loopback_sides.check(lambda: Item.query(condition).order(*order).fetch())

    @pytest.mark.parametrize("key", [Item.key, -Item.key], ids=repr)
    def test_ordered_by_key(self, sides: Sides, key: Any) -> None:
        sides.check(lambda: Item.query(Item.number.IN([5, 1, 3])).order(key).fetch())

    def test_ordered_by_values_of_all_types(self, loopback_sides: Sides) -> None:
        def ordered(order: Any) -> Any:
            return Item.query(Item.parity.IN(["odd", "even"])).order(order).fetch()

        for order in (Item.moment, -Item.text, Item.ratio, Item.reference, Item.zoned):
            loopback_sides.check(functools.partial(ordered, order))

    @pytest.mark.parametrize(
        "ask",
        [
            lambda query: query.fetch(2, offset=1),
            lambda query: query.get(),
            lambda query: query.count(),
            lambda query: query.count(limit=2),
            lambda query: list(query),
            lambda query: query.map(lambda one: one),
            lambda query: query.fetch(keys_only=True),
            lambda query: query.fetch(use_cache=False),
        ],
    )
    def test_ways_to_ask(self, loopback_sides: Sides, ask: Any) -> None:
        condition = Item.tags.IN(["all", "tag 1"])
        loopback_sides.check(lambda: ask(Item.query(condition).order(Item.number)))

    def test_pages_are_refused(self, loopback_sides: Sides) -> None:
        condition = Item.number.IN([1, 2])
        loopback_sides.check(lambda: Item.query(condition).fetch_page(1), works=False)

    def test_projection(self, sides: Sides) -> None:
        sides.check(lambda: _of_both().fetch(projection=["number", "ratio"]), lazy=False)

    def test_projection_that_lacks_what_it_is_sorted_by(self, sides: Sides) -> None:
        """It is requested too, and removed from the results."""
        described = sides.check(
            lambda: _of_both().order(Item.text).fetch(projection=["ratio"]),
            lazy=False,
        )
        assert "'number'" not in repr([one[1]["projection"] for one in described[1]])

    def test_keys_sorted_by_a_property(self, sides: Sides) -> None:
        sides.check(lambda: _of_both().fetch(keys_only=True))


def _of_both() -> Any:
    """Return a query that ndb splits in two, ordered by a property that both have to return."""
    return Item.query(Item.parity.IN(["odd", "even"])).order(-Item.number)


class TestPostFilters:
    """ndb filters for equality in several parts of one list item; no server can."""

    MATCHING = Residence(street="3 Street", city="odd")
    MIXED = Residence(street="3 Street", city="even")

    @pytest.mark.parametrize("residence", [MATCHING, MIXED], ids=repr)
    def test_repeated_structured_property(self, sides: Sides, residence: Any) -> None:
        described = sides.check(lambda: Item.query(Item.addresses == residence).fetch())
        assert len(described[1]) == (2 if residence is self.MATCHING else 0)

    def test_of_dotted_names(self, loopback_sides: Sides) -> None:
        residence = Residence(street="2 Street", city="even")
        described = loopback_sides.check(
            lambda: Dotted.query(Dotted.addresses == residence).fetch()
        )
        assert len(described[1]) == 2

    @pytest.mark.parametrize(
        "ask",
        [
            lambda query: query.fetch(1, offset=1),
            lambda query: query.count(),
            lambda query: query.get(),
            lambda query: query.fetch_page(1),
            lambda query: list(query.iter()),
            lambda query: query.order(-Item.number).fetch(),
        ],
    )
    def test_ways_to_ask(self, sides: Sides, ask: Any) -> None:
        sides.check(lambda: ask(Item.query(Item.addresses == self.MATCHING)))

    def test_of_many_queries(self, sides: Sides) -> None:
        def query() -> Any:
            other = Residence(street="6 Street", city="even")
            return Item.query(ndb.OR(Item.addresses == self.MATCHING, Item.addresses == other))

        sides.check(lambda: query().fetch())
        # Stock ndb cannot merge these in order.
        sides.check(lambda: query().order(Item.number).fetch(), works=False)
