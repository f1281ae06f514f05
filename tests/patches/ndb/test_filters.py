"""Filters and orders of queries; ndb makes several queries of some, and filters some itself."""

from __future__ import annotations

from typing import Any

from google.cloud import ndb

from tests.patches.ndb.sides import Scenarios, asked
from tests.patches.ndb.stored import ODD, Dotted, Item, Residence

ON_EACH_SERVER, ON_ONE_SERVER = Scenarios(), Scenarios()
MATCHING = Residence(street="3 Street", city="odd")
MIXED = Residence(street="3 Street", city="even")


def _fetched(*queries: Any) -> list[Any]:
    return [found for query in queries for found in asked(query, lambda query: query.fetch())]


@ON_ONE_SERVER()
def conditions() -> Any:
    found = _fetched(
        Item.query(Item.number > 3),
        Item.query(Item.number != 3),
        Item.query(Item.flag == True),  # noqa: E712
        Item.query(Item.text == "é 漢 🜁 2"),
        Item.query(Item.nothing == None),  # noqa: E711
        Item.query(Item.tags == "tag 1"),
        Item.query(Item.shouted == "QUIET 3"),
        Item.query(Item.computed == "odd 3"),
        Item.query(Item.site.name == "nested"),
        Item.query(Item.address == Residence(street="2 Street", city="even")),
        Item.query(Item.addresses.street == "3 Street"),
        Item.query(ndb.AND(ODD, Item.number > 3)),
        Item.query(Item.number.IN([1, 3, 5, 100], server_op=True)),
        Item.query(Item.number.NOT_IN([1, 3, 5])),
        Item.query(Item.key == ndb.Key(Item, 2)),
        Item.query(Item.key > ndb.Key(Item, 4)),
        Item.query(Item.reference == ndb.Key("Other", "name", "Child", 3)),
        Dotted.query(Dotted.address.street == "2 Street"),
    )
    assert all(found)
    return found


@ON_ONE_SERVER()
def orders() -> Any:
    ways = (Item.number, -Item.number, Item.key, -Item.key)
    return _fetched(*(Item.query().order(Item.parity, way) for way in ways))


# Queries that ndb makes several of; it merges their results.


@ON_ONE_SERVER()
def merged() -> Any:
    ways = [(), (Item.number,), (-Item.number,), (Item.parity, -Item.number)]
    conditions = [
        Item.number.IN([1, 3, 4, 100]),
        Item.tags.IN(["all", "tag 1", "tag 2"]),
        ndb.OR(Item.number == 1, ODD, Item.number > 5),
        ndb.AND(ODD, ndb.OR(Item.number < 3, Item.number > 5)),
    ]
    return _fetched(*(Item.query(each).order(*way) for each in conditions for way in ways))


def _of_both() -> Any:
    """Return a query that ndb splits in two, ordered by a property that both have to return."""
    return Item.query(Item.parity.IN(["odd", "even"])).order(-Item.number)


@ON_EACH_SERVER()
def ordered_by_keys() -> Any:
    query = Item.query(Item.number.IN([5, 1, 3]))
    return _fetched(query.order(Item.key), query.order(-Item.key))


@ON_ONE_SERVER()
def ordered_by_values_of_all_types() -> Any:
    query = Item.query(Item.parity.IN(["odd", "even"]))
    ways = (Item.moment, -Item.text, Item.ratio, Item.reference, Item.zoned)
    return _fetched(*(query.order(way) for way in ways))


@ON_ONE_SERVER()
def ways_to_ask_for_merged_results() -> Any:
    return asked(
        Item.query(Item.tags.IN(["all", "tag 1"])).order(Item.number),
        lambda query: query.fetch(2, offset=1),
        lambda query: query.get(),
        lambda query: query.count(),
        lambda query: query.count(limit=2),
        lambda query: list(query),
        lambda query: query.map(lambda one: one),
        lambda query: query.fetch(keys_only=True),
        lambda query: query.fetch(use_cache=False),
    )


ON_ONE_SERVER.add(
    "pages of merged", lambda: Item.query(Item.number.IN([1, 2])).fetch_page(1), works=False
)


@ON_EACH_SERVER(lazy=False)
def merged_projections_and_keys() -> Any:
    """A projection is requested with what it is sorted by, which is removed from the results."""
    found = _of_both().order(Item.text).fetch(projection=["ratio"])
    assert {one._projection for one in found} == {("ratio",)}
    whole = _of_both().fetch(projection=["number", "ratio"])
    return found, whole, _of_both().fetch(keys_only=True)


@ON_ONE_SERVER(lazy=None)
def order_of_projected_names() -> Any:
    """The server has one order on the wire, so that ndb has one in a process."""
    return [one._projection for one in Item.query().fetch(projection=["number", "ratio", "parity"])]


# ndb filters for equality in several parts of the same list item; no server can.


@ON_EACH_SERVER()
def repeated_structured_property() -> Any:
    found = [Item.query(Item.addresses == residence).fetch() for residence in (MATCHING, MIXED)]
    assert [*map(len, found)] == [2, 0]
    return found


@ON_ONE_SERVER()
def dotted_names() -> Any:
    residence = Residence(street="2 Street", city="even")
    found = Dotted.query(Dotted.addresses == residence).fetch()
    assert len(found) == 2
    return found


@ON_EACH_SERVER()
def ways_to_ask_for_filtered_results() -> Any:
    return asked(
        Item.query(Item.addresses == MATCHING),
        lambda query: query.fetch(1, offset=1),
        lambda query: query.count(),
        lambda query: query.get(),
        lambda query: query.fetch_page(1),
        lambda query: list(query.iter()),
        lambda query: query.order(-Item.number).fetch(),
    )


def _filtered_and_merged() -> Any:
    other = Residence(street="6 Street", city="even")
    return Item.query(ndb.OR(Item.addresses == MATCHING, Item.addresses == other))


ON_EACH_SERVER.add("filtered and merged", lambda: _filtered_and_merged().fetch())
# Stock ndb cannot merge these in order.
ON_EACH_SERVER.add(
    "in order", lambda: _filtered_and_merged().order(Item.number).fetch(), works=False
)


test_on_each_server = ON_EACH_SERVER.on_each_server()
test_on_one_server = ON_ONE_SERVER.on_one_server()
