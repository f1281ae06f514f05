"""Queries give stock ndb's results in every way of reading these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.environment_vars import GCD_HOST
from google.cloud.ndb import _datastore_query, model
from google.cloud.ndb.context import get_context

from tests.patches.ndb.describing import attempt, describe
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import (
    COUNT,
    ODD,
    Circle,
    Dotted,
    Hooked,
    Item,
    Loose,
    Residence,
    Shape,
)


def _parent() -> Any:
    return ndb.Key("Parent", 1)


def _limited() -> Any:
    return ndb.QueryOptions(limit=2, use_cache=False)


def _every(**options: Any) -> Any:
    return Item.query().order(Item.number).fetch(**options)


def _stepwise() -> Any:
    iterator = Item.query().order(Item.number).iter()
    seen: list[Any] = []
    while iterator.has_next():
        seen.append([iterator.probably_has_next(), next(iterator), iterator.cursor_after()])
    return seen, iterator.probably_has_next()


@ndb.tasklet
def _asynchronously() -> Any:
    iterator = Item.query().order(Item.number).iter()
    seen = []
    while (yield iterator.has_next_async()):
        seen.append(iterator.next())
    raise ndb.Return(seen)


def _several_kinds_at_once() -> Any:
    futures = [Item.query().order(Item.number).fetch_async(), Shape.query().fetch_async()]
    return [future.result() for future in futures]


def _in_the_context_of_the_call() -> Any:
    """The models go into the cache of the context that was current then."""
    with ndb.get_context().new(cache_policy=None).use() as inner:
        future = Item.query().order(Item.number).fetch_async()
    found = future.result()
    return found, [inner.cache.get(item.key) is item for item in found]


def _equal_keys_and_other_values() -> Any:
    """A model that was changed and is in the context's cache stays as it is."""
    first = ndb.Key(Item, 1).get()
    first.text = "changed, not put"
    return _every(limit=3)


def _pages() -> Any:
    seen, cursor, more = [], None, True
    while more:
        query = Item.query().order(Item.number)
        found, cursor, more = query.fetch_page(2, start_cursor=cursor)
        seen.append([found, cursor, more])
    return seen


def _page_from_a_cursor_of_text() -> Any:
    query = Item.query().order(Item.number)
    _, cursor, _ = query.fetch_page(3)
    again = ndb.Cursor(urlsafe=cursor.urlsafe())
    return query.fetch_page(3, start_cursor=again), query.fetch(end_cursor=again)


def _descendants() -> Any:
    return [
        Hooked.query(ancestor=_parent()).fetch(),
        Hooked.query(Hooked.number > 3, ancestor=_parent()).fetch(),
        Hooked.query(ancestor=_parent()).fetch(keys_only=True),
        Hooked.query(ancestor=_parent()).order(-Hooked.number).get(),
    ]


QUERIES: dict[str, Callable[[], Any]] = {
    "fetch": _every,
    "limit and offset": lambda: [
        _every(limit=limit, offset=offset) for limit in (None, 1, 4) for offset in (None, 2, COUNT)
    ],
    "iterator": _stepwise,
    "iterator, asynchronously": lambda: _asynchronously().result(),
    "kindless": lambda: ndb.Query(ancestor=_parent()).fetch(),
    "polymodel": lambda: [Shape.query().order(Shape.number).fetch(), Circle.query().fetch()],
    "several kinds at once": _several_kinds_at_once,
    "in the context of the call": _in_the_context_of_the_call,
    "equal keys and other values": _equal_keys_and_other_values,
    "pages": _pages,
    "page from a cursor of text": _page_from_a_cursor_of_text,
    "page of keys": lambda: Item.query().order(Item.number).fetch_page(2, keys_only=True),
    "page of nothing": lambda: Item.query(Item.number > 100).fetch_page(2),
    "descendants": _descendants,
    # Structured properties and Expandos outside projections.
    "dotted": lambda: Dotted.query().order(Dotted.number).fetch(),
    "expando": lambda: Loose.query(Loose.number == 2).fetch(),
    "expando of names that the class has": lambda: Loose.query(Loose.number == 1).fetch(),
}


@pytest.mark.parametrize("ask", QUERIES.values(), ids=QUERIES)
def test_queries(sides: Sides, ask: Callable[[], Any]) -> None:
    sides.check(ask)


class TestWaysToAsk:
    """Every way to read the results of a query."""

    @pytest.mark.parametrize(
        "ask",
        [
            lambda query: query.fetch(),
            lambda query: query.fetch(3),
            lambda query: query.fetch(limit=2, offset=3),
            lambda query: query.fetch_async().result(),
            lambda query: query.fetch_async(limit=1).result(),
            list,
            lambda query: list(query.iter()),
            lambda query: list(query.iter(limit=5, offset=1)),
            lambda query: query.get(),
            lambda query: query.get_async().result(),
            lambda query: query.map(lambda one: (one, one.number)),
            lambda query: query.map_async(lambda one: one.key).result(),
            lambda query: query.map(lambda key: key.get_async(), keys_only=True),
            lambda query: query.count(),
            lambda query: query.count(limit=2),
            lambda query: query.count_async().result(),
            lambda query: query.fetch(keys_only=True),
            lambda query: query.get(keys_only=True),
            lambda query: query.fetch(use_cache=False),
            lambda query: query.fetch(read_consistency=ndb.EVENTUAL),
            lambda query: query.fetch(limit=0),
            lambda query: query.fetch(offset=COUNT + 1),
            lambda _: ndb.gql(
                "SELECT * FROM Item WHERE parity = :1 ORDER BY number", "odd"
            ).fetch(),
            lambda _: Item.query(default_options=_limited()).fetch(),
        ],
    )
    def test_of_one_query(self, loopback_sides: Sides, ask: Any) -> None:
        loopback_sides.check(lambda: ask(Item.query(ODD).order(-Item.number)))

    @pytest.mark.parametrize("name", ["next", "has_next"])
    def test_fetch_where_a_method_is_replaced(
        self, loopback_sides: Sides, monkeypatch: pytest.MonkeyPatch, name: str
    ) -> None:
        """A replacement of a method of the iterator is called for each result."""
        kind = _datastore_query._QueryIteratorImpl
        original = getattr(kind, name)
        calls: list[Any] = []

        def counting(results: Any) -> Any:
            calls.append(results)
            return original(results)

        monkeypatch.setattr(kind, name, counting)

        def scenario() -> Any:
            calls.clear()
            return Item.query().order(Item.number).fetch(), len(calls)

        assert loopback_sides.check(scenario)[1][1] == describe(COUNT)

    def test_iterator_after_a_fetch(self, loopback_sides: Sides) -> None:
        """It is where ``next`` leaves it, also when a result fails."""
        made: Any = None
        seen: list[Any] = []
        iterate = _datastore_query.iterate

        def kept(query: Any) -> Any:
            seen.append(iterate(query))
            return seen[-1]

        def failing(protobuf: Any) -> Any:
            found = made(protobuf)
            if found.number == 3:
                raise LookupError("the third")
            return found

        def scenario() -> Any:
            nonlocal made
            made = model._entity_from_protobuf
            seen.clear()
            query = Item.query().order(Item.number)
            with mock.patch.object(_datastore_query, "iterate", kept):
                whole = query.fetch()
                with mock.patch.object(model, "_entity_from_protobuf", failing):
                    failed = attempt(lambda: query.fetch(use_cache=False))
            left = [(one._index, one._cursor_before, one._cursor_after) for one in seen]
            return whole, failed, left

        loopback_sides.check(scenario)

    def test_policies(self, loopback_sides: Sides) -> None:
        """The policy of a context is asked for the same keys, and the cache has the same models."""

        def scenario() -> Any:
            asked: list[Any] = []

            def policy(key: Any) -> bool:
                asked.append(key)
                return bool(key.id() % 2)

            context = get_context()
            context.set_cache_policy(policy)
            query = Item.query().order(Item.number)
            found = query.fetch()
            context.cache[found[2].key] = None
            again = query.fetch()
            same = [one is other for one in found for other in again]
            entries = sorted(context.cache.items(), key=lambda item: item[0].id())
            keys = [(one.key, one.key.to_legacy_urlsafe("s~")) for one in again]
            return asked, found, again, same, entries, keys

        loopback_sides.check(scenario)

    def test_keys_of_one_result_and_its_model(self, loopback_sides: Sides) -> None:
        """The key of a result is that of its model, whoever replaced the method that gives it."""

        def scenario() -> Any:
            other = ndb.Key("Item", 77)
            with mock.patch.object(_datastore_query._Result, "key", return_value=other):
                found = Item.query().order(Item.number).fetch()
            return [one.key for one in found], found

        loopback_sides.check(scenario)

    @pytest.mark.parametrize("environment", [None, "named"])
    def test_count(
        self, sides: Sides, environment: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where the environment names an emulator, ndb counts in another way."""
        if environment is not None:
            monkeypatch.setenv(GCD_HOST, environment)

        def counts() -> Any:
            query = Item.query()
            return [
                *(query.count(), query.count(limit=4), query.filter(ODD).count()),
                *(query.filter(Item.number > 100).count(), query.count(limit=100)),
            ]

        sides.check(counts)

    def test_one_that_cannot_be_made(self, sides: Sides, monkeypatch: pytest.MonkeyPatch) -> None:
        """Ends its own query, wherever among the results it comes."""
        monkeypatch.delitem(model.Model._kind_map, "Circle")

        def scenario() -> Any:
            queries = [
                *(Shape.query().order(order) for order in (Shape.number, -Shape.number)),
                Item.query().order(Item.number),
            ]
            futures = [query.fetch_async() for query in queries]
            return [attempt(future.result) for future in futures]

        sides.check(scenario, lazy=None)


class TestPages:
    def test_projection(self, sides: Sides) -> None:
        sides.check(
            lambda: Item.query(projection=["number"]).order(Item.number).fetch_page(2),
            lazy=False,
        )

    def test_continued_by_the_other_side(self, loopback_sides: Sides) -> None:
        """A cursor of stock ndb continues lazily, and the other way round."""
        sides = loopback_sides

        def page(cursor: Any) -> Any:
            with sides.context():
                query = Item.query().order(Item.number)
                found, after, _ = query.fetch_page(3, start_cursor=cursor)
                return [one.number for one in found], after

        first, cursor = page(None)
        with sides.lazily():
            assert page(None) == (first, cursor)
            second, cursor = page(cursor)
        third, _ = page(cursor)
        assert first + second + third == list(range(1, COUNT + 1))


class TestFilters:
    @pytest.mark.parametrize(
        "condition",
        [
            Item.number > 3,
            Item.number != 3,
            Item.flag == True,  # noqa: E712
            Item.text == "é 漢 🜁 2",
            Item.nothing == None,  # noqa: E711
            Item.tags == "tag 1",
            Item.shouted == "QUIET 3",
            Item.computed == "odd 3",
            Item.site.name == "nested",
            Item.address == Residence(street="2 Street", city="even"),
            Item.addresses.street == "3 Street",
            ndb.AND(ODD, Item.number > 3),
        ],
        ids=repr,
    )
    def test_condition(self, loopback_sides: Sides, condition: Any) -> None:
        loopback_sides.check(lambda: Item.query(condition).fetch())

    def test_keys_and_dotted_properties(self, loopback_sides: Sides) -> None:
        loopback_sides.check(
            lambda: [
                Item.query(Item.key == ndb.Key(Item, 2)).fetch(),
                Item.query(Item.key > ndb.Key(Item, 4)).fetch(),
                Item.query(Item.reference == ndb.Key("Other", "name", "Child", 3)).fetch(),
                Dotted.query(Dotted.address.street == "2 Street").fetch(),
            ]
        )

    @pytest.mark.parametrize("order", [Item.number, -Item.number, Item.key, -Item.key], ids=repr)
    def test_order(self, loopback_sides: Sides, order: Any) -> None:
        loopback_sides.check(lambda: Item.query().order(Item.parity, order).fetch())

    @pytest.mark.parametrize(
        "condition",
        [Item.number.IN([1, 3, 5, 100], server_op=True), Item.number.NOT_IN([1, 3, 5])],
        ids=repr,
    )
    def test_operators_of_servers(self, loopback_sides: Sides, condition: Any) -> None:
        loopback_sides.check(lambda: Item.query(condition).order(Item.number).fetch())
