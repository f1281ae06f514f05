"""Queries and their projections give stock ndb's results in every way of reading these."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import model
from google.cloud.ndb.context import get_context

from tests.patches.ndb.model_snapshots import storages
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import (
    COUNT,
    Circle,
    Dotted,
    Item,
    Loose,
    Shape,
)
from tests.support.snapshots import outcome

SCENARIOS = Scenarios()


def _ordered() -> Any:
    return Item.query().order(Item.number)


@SCENARIOS()
def iterator() -> Any:
    results = _ordered().iter()
    seen: list[Any] = []
    while results.has_next():
        seen.append([results.probably_has_next(), next(results), results.cursor_after()])
    return seen, results.probably_has_next()


@SCENARIOS()
@ndb.synctasklet
def iterator_in_a_tasklet() -> Any:
    results = _ordered().iter()
    seen = []
    while (yield results.has_next_async()):
        seen.append(results.next())
    raise ndb.Return(seen)


@SCENARIOS()
def pages() -> Any:
    seen, cursor, more = [], None, True
    while more:
        found, cursor, more = _ordered().fetch_page(2, start_cursor=cursor)
        seen.append([found, cursor, more])
    _, cursor, _ = _ordered().fetch_page(3)
    again = ndb.Cursor(urlsafe=cursor.urlsafe())
    from_text = _ordered().fetch_page(3, start_cursor=again), _ordered().fetch(end_cursor=again)
    nothing = Item.query(Item.number > 100).fetch_page(2)
    return seen, from_text, _ordered().fetch_page(2, keys_only=True), nothing


@SCENARIOS()
def other_kinds() -> Any:
    """Hierarchies, structured properties in parts, and Expandos with other names and without."""
    return [
        Shape.query().order(Shape.number).fetch(),
        Circle.query().fetch(),
        Dotted.query().order(Dotted.number).fetch(),
        *(Loose.query(Loose.number == number).fetch() for number in (1, 2)),
    ]


@SCENARIOS()
def several_queries_at_a_time() -> Any:
    """Merged by ndb: in an order of one or two properties, and without those seen before."""
    either = Item.query(ndb.OR(Item.parity == "odd", Item.number == 2))
    return [
        either.fetch(),
        either.order(-Item.number).fetch(3, offset=1),
        either.order(Item.parity, -Item.number).fetch(),
        list(either.order(Item.number).iter()),
        Item.query(Item.parity.IN(["odd", "even"])).order(Item.number).get(),
        Item.query(Item.tags.IN(["all", "tag 1"])).order(Item.number).fetch(keys_only=True),
    ]


@SCENARIOS(lazy=None)
def limits_and_cached_deletions() -> Any:
    """Results that the context has as deleted are left out, and do not count."""
    cache = get_context().cache
    found = []
    for limit in (None, 1, 2, 4):
        cache.clear()
        cache.update({ndb.Key(Item, number): None for number in (2, 3)})
        found += [_ordered().fetch(limit=limit, offset=offset) for offset in (None, 2)]
    return found, sorted(key.id() for key in cache)


@SCENARIOS()
def policies() -> Any:
    """The policy of a context is asked for the same keys, and the cache has the same models."""
    asked: list[Any] = []

    def policy(key: Any) -> bool:
        asked.append(key)
        return bool(key.id() % 2)

    context = get_context()
    context.set_cache_policy(policy)
    found = _ordered().fetch()
    context.cache[found[2].key] = None
    again = _ordered().fetch()
    same = [one is other for one in found for other in again]
    entries = sorted(context.cache.items(), key=lambda item: item[0].id())
    keys = [(one.key, one.key.to_legacy_urlsafe("s~")) for one in again]
    return asked, found, again, same, entries, keys


@SCENARIOS(lazy=None)
def result_that_cannot_be_made() -> Any:
    """Ends its own query, wherever among the results it comes."""
    queries = [*(Shape.query().order(order) for order in (Shape.number, -Shape.number)), _ordered()]
    with pytest.MonkeyPatch.context() as patching:
        patching.delitem(model.Model._kind_map, "Circle")
        futures = [query.fetch_async() for query in queries]
        return [outcome(future.result) for future in futures]


def test_pages_continued_by_the_other_side(loopback_sides: Sides) -> None:
    """A cursor of stock ndb continues lazily, and the other way round."""

    def page(cursor: Any) -> Any:
        with loopback_sides.context():
            found, after, _ = _ordered().fetch_page(3, start_cursor=cursor)
            return [one.number for one in found], after

    first, cursor = page(None)
    with loopback_sides.lazily():
        assert page(None) == (first, cursor)
        second, cursor = page(cursor)
    third, _ = page(cursor)
    assert first + second + third == list(range(1, COUNT + 1))


# Projections: ndb makes their models of the messages.

PROJECTIONS: list[tuple[Any, list[Any]]] = [
    (Item, [Item.text, Item.number, "shouted", "generic"]),
    (Item, ["tags", "number"]),
    (Item, ["moment", "where", "reference"]),
    (Item, ["nothing"]),
    # Parts of structured properties.
    (Item, ["number", "address.street", "address.c"]),
    (Item, ["addresses.street", "addresses.c"]),
    (Item, ["site.name", "site.address.c"]),
    # The same, stored by dotted names.
    (Dotted, ["number", "address.street", "address.c"]),
    (Dotted, [Dotted.address.street, Dotted.addresses.city]),
    (Shape, ["class", "number"]),
    (Loose, ["number"]),
]


@SCENARIOS(lazy=False)
def projections() -> Any:
    return [kind.query().fetch(projection=names) for kind, names in PROJECTIONS]


@SCENARIOS()
def projections_are_not_in_the_cache_of_the_context() -> Any:
    projected = _ordered().fetch(1, projection=["number"])[0]
    whole = projected.key.get()
    return [storages(projected) <= {"dict", "LazyValues"}, projected is whole, whole.text]


test_scenarios = SCENARIOS.test()
