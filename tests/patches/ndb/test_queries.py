"""Queries and their projections give stock ndb's results in every way of reading these."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.environment_vars import GCD_HOST
from google.cloud.ndb import _datastore_query, model
from google.cloud.ndb.context import get_context

from tests.patches.ndb.describing import storages
from tests.patches.ndb.model_snapshots import attempt
from tests.patches.ndb.sides import Scenarios, Sides, asked
from tests.patches.ndb.stored import (
    COUNT,
    ODD,
    Circle,
    Dotted,
    Hooked,
    Item,
    Loose,
    Shape,
)

ON_EACH_SERVER, ON_ONE_SERVER = Scenarios(), Scenarios()


def _ordered() -> Any:
    return Item.query().order(Item.number)


@ON_EACH_SERVER()
def iterator() -> Any:
    results = _ordered().iter()
    seen: list[Any] = []
    while results.has_next():
        seen.append([results.probably_has_next(), next(results), results.cursor_after()])
    return seen, results.probably_has_next()


@ON_EACH_SERVER()
@ndb.synctasklet
def iterator_in_a_tasklet() -> Any:
    results = _ordered().iter()
    seen = []
    while (yield results.has_next_async()):
        seen.append(results.next())
    raise ndb.Return(seen)


@ON_EACH_SERVER()
def several_kinds_at_once() -> Any:
    futures = [_ordered().fetch_async(), Shape.query().fetch_async()]
    return [future.result() for future in futures]


@ON_EACH_SERVER()
def in_the_context_of_the_call() -> Any:
    """The models go into the cache of the context that was current then."""
    with ndb.get_context().new(cache_policy=None).use() as inner:
        future = _ordered().fetch_async()
    found = future.result()
    return found, [inner.cache.get(item.key) is item for item in found]


@ON_EACH_SERVER()
def equal_keys_and_other_values() -> Any:
    """A model that was changed and is in the context's cache stays as it is."""
    first = ndb.Key(Item, 1).get()
    first.text = "changed, not put"
    return _ordered().fetch(limit=3)


@ON_EACH_SERVER()
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


@ON_EACH_SERVER()
def descendants() -> Any:
    parent = ndb.Key("Parent", 1)
    children = Hooked.query(ancestor=parent)
    return [
        children.fetch(),
        children.filter(Hooked.number > 3).fetch(),
        children.fetch(keys_only=True),
        children.order(-Hooked.number).get(),
        ndb.Query(ancestor=parent).fetch(),
    ]


@ON_EACH_SERVER()
def other_kinds() -> Any:
    """Hierarchies, structured properties in parts, and Expandos with other names and without."""
    return [
        Shape.query().order(Shape.number).fetch(),
        Circle.query().fetch(),
        Dotted.query().order(Dotted.number).fetch(),
        *(Loose.query(Loose.number == number).fetch() for number in (1, 2)),
    ]


@ON_EACH_SERVER()
def limits_and_offsets() -> Any:
    pairs = [(limit, offset) for limit in (None, 1, 4) for offset in (None, 2, COUNT)]
    return [_ordered().fetch(limit=limit, offset=offset) for limit, offset in pairs]


@ON_EACH_SERVER(lazy=None)
def limits_and_cached_deletions() -> Any:
    """Results that the context has as deleted are left out, and do not count."""
    cache = get_context().cache
    found = []
    for limit in (None, 1, 2, 4):
        cache.clear()
        cache.update({ndb.Key(Item, number): None for number in (2, 3)})
        found += [_ordered().fetch(limit=limit, offset=offset) for offset in (None, 2)]
    return found, sorted(key.id() for key in cache)


@ON_ONE_SERVER()
def ways_to_ask() -> Any:
    return asked(
        Item.query(ODD).order(-Item.number),
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
        lambda _: ndb.gql("SELECT * FROM Item WHERE parity = :1 ORDER BY number", "odd").fetch(),
        lambda _: Item.query(default_options=ndb.QueryOptions(limit=2, use_cache=False)).fetch(),
    )


@ON_ONE_SERVER()
def iterator_after_a_fetch() -> Any:
    """It is where ``next`` leaves it, also when a result fails."""
    seen: list[Any] = []
    iterate, made = _datastore_query.iterate, model._entity_from_protobuf

    def kept(query: Any) -> Any:
        seen.append(iterate(query))
        return seen[-1]

    def failing(protobuf: Any) -> Any:
        found = made(protobuf)
        if found.number == 3:
            raise LookupError("the third")
        return found

    with mock.patch.object(_datastore_query, "iterate", kept):
        whole = _ordered().fetch()
        with mock.patch.object(model, "_entity_from_protobuf", failing):
            failed = attempt(lambda: _ordered().fetch(use_cache=False))
    cursors = [
        each and each.cursor for one in seen for each in (one._cursor_before, one._cursor_after)
    ]
    return whole, failed, [one._index for one in seen], cursors


@ON_ONE_SERVER()
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


@ON_ONE_SERVER()
def key_of_a_result_and_of_its_model() -> Any:
    """The key of a result is that of its model, whoever replaced the method that gives it."""
    other = ndb.Key("Item", 77)
    with mock.patch.object(_datastore_query._Result, "key", return_value=other):
        found = _ordered().fetch()
    return [one.key for one in found], found


@pytest.mark.parametrize("environment", [None, "named"])
def test_count(sides: Sides, environment: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
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


@ON_EACH_SERVER(lazy=None)
def result_that_cannot_be_made() -> Any:
    """Ends its own query, wherever among the results it comes."""
    queries = [*(Shape.query().order(order) for order in (Shape.number, -Shape.number)), _ordered()]
    with pytest.MonkeyPatch.context() as patching:
        patching.delitem(model.Model._kind_map, "Circle")
        futures = [query.fetch_async() for query in queries]
        return [attempt(future.result) for future in futures]


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


@ON_ONE_SERVER(lazy=False)
def projections() -> Any:
    return [kind.query().fetch(projection=names) for kind, names in PROJECTIONS]


@ON_EACH_SERVER(lazy=False)
def distinct_ordered_and_paged_projections() -> Any:
    return [
        Item.query(projection=["parity"], distinct=True).fetch(),
        Item.query(projection=["parity", "number"], distinct_on=["parity"]).fetch(),
        Item.query(group_by=["parity"], projection=["parity"]).fetch(),
        Item.query(Item.number > 2).order(-Item.number).fetch(projection=["number"]),
        Item.query(projection=["number"]).order(Item.number).fetch_page(2),
    ]


@ON_EACH_SERVER()
def projections_are_not_in_the_cache_of_the_context() -> Any:
    projected = _ordered().fetch(1, projection=["number"])[0]
    whole = projected.key.get()
    return [storages(projected) <= {"dict", "LazyValues"}, projected is whole, whole.text]


@ON_ONE_SERVER(lazy=None)
def uses_that_a_projection_refuses() -> Any:
    (found,) = Item.query().fetch(1, projection=["number"])
    refused = [attempt(found.put), attempt(lambda: found.text)]
    assert all(each.form is None for each in refused)
    return refused


test_on_each_server = ON_EACH_SERVER.on_each_server()
test_on_one_server = ON_ONE_SERVER.on_one_server()
