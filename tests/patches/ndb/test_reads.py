"""Reads by key, contexts, hooks and transactions: stock ndb's results, and only what is read."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb.context import get_context

import lazyentity
from tests.patches.models.pairs import undecoded
from tests.patches.ndb import stored
from tests.patches.ndb.model_snapshots import storages
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import (
    ALL,
    COUNT,
    MISSING,
    Circle,
    Constructed,
    Dotted,
    Hooked,
    Item,
    Loose,
    Residence,
    Shape,
    item_keys,
    stored_keys,
)

SCENARIOS = Scenarios()


def _key(number: int = 1) -> Any:
    return ndb.Key(Item, number)


def _again(*keys: Any) -> Any:
    return ndb.get_multi(keys, use_cache=False)


def _cached() -> list[Any]:
    """Return the names of the keys in the cache of the context, and which of them have a model."""
    cache = get_context().cache
    return sorted((key.flat(), found is not None) for key, found in cache.items())


@SCENARIOS()
def by_key() -> Any:
    futures = [key.get_async() for key in item_keys(*ALL)]
    futures += ndb.get_multi_async(item_keys(3, 1, 2))
    found = [_key().get(), Item.get_by_id(2), _key(MISSING).get()]
    return found, [future.result() for future in futures]


@SCENARIOS(lazy=None)
def keys_of_every_class() -> Any:
    """In whatever they are given, with a cached model, a cached deletion and a changed key."""
    keys = [*stored_keys(), *item_keys(99, 2), ndb.Key("Constructed", 1), ndb.Key("Hooked", 2)]
    Hooked.got.clear()
    found = [ndb.get_multi(keys), ndb.get_multi(tuple(keys)), ndb.get_multi(iter(keys))]
    get_context().cache[keys[0]] = None
    found[0][1]._key = ndb.Key("Item", 77)
    found += [ndb.get_multi(keys), ndb.get_multi(keys=keys), ndb.get_multi([])]
    return found, _again(*keys), _cached(), [*Hooked.got], Hooked.asked[-3:]


@SCENARIOS()
def keys_without_hooks() -> Any:
    """One call for all: with a model that got another key, and with a cached deletion."""
    keys = item_keys(1, 2, 99, 1)
    first = ndb.get_multi(keys)
    first[3]._key = ndb.Key("Item", 77)
    get_context().cache[keys[1]] = None
    eventual = ndb.get_multi(keys, read_consistency=ndb.EVENTUAL)
    return first, first[0] is first[3], ndb.get_multi(keys), eventual, _again(*keys), _cached()


@SCENARIOS(lazy=None)
def in_tasklets() -> Any:
    """Calls within calls, and in the context of a transaction."""
    seen: list[Any] = []

    @ndb.tasklet
    def get(*numbers: int) -> Any:
        first = yield _key(numbers[0]).get_async()
        found = ndb.get_multi(item_keys(*numbers))
        seen.append((numbers, _cached()))
        return first, found

    futures = [get(1, 2), get(3, 4), get(2, 5)]
    found = [future.result() for future in futures]
    return found, seen, ndb.transaction(lambda: ndb.get_multi(item_keys(7, 1))), _cached()


@SCENARIOS()
def constructors_and_hierarchies() -> Any:
    """A stored value replaces that of a constructor; the entity names its class."""
    found = ndb.get_multi([ndb.Key(Constructed, 1), ndb.Key(Shape, 1), ndb.Key(Shape, 2)])
    assert [type(one) for one in found] == [Constructed, Shape, Circle]
    return found, found[0].noted, found[0].made


@SCENARIOS(works=False)
def an_unknown_option() -> Any:
    return ndb.get_multi(item_keys(1, 2), nonsense=1)


@SCENARIOS()
def hooks_before_and_after_a_get() -> Any:
    Hooked.asked.clear()
    Hooked.got.clear()
    found = ndb.get_multi([ndb.Key(Hooked, number) for number in (2, 1, MISSING)])
    got, Hooked.got = Hooked.got, []
    ndb.Key(Hooked, 2).get()
    seen = [model is None or model in found for _, model in got]
    return found, got, seen, [*Hooked.asked], Hooked.get_by_id(1) is found[1]


@SCENARIOS()
def cache_policies() -> Any:
    same = []
    for policy in (lambda _: False, lambda key: key.id() == 1, None):
        get_context().set_cache_policy(policy)
        same.append([key.get() is key.get() for key in item_keys(1, 2)])
    return same


@SCENARIOS(writes=True, legacy_data=False)
def what_was_written_and_deleted() -> Any:
    found, key = _key(2).get(), _key()
    found.text = "changed"
    found.tags.append("one more")
    found.site.numbers.append(3)
    found.put()
    read = found.key.get(use_cache=False)
    deleted = key.get()
    key.delete()
    keys = Item.query().order(Item.number).fetch(keys_only=True)
    return found, found.key.get() is found, read, read == found, deleted, key.get(), keys


@SCENARIOS(writes=True, legacy_data=False)
def transaction_of_gets_and_a_query() -> Any:
    keys = item_keys(1, 2, 3)

    def inside() -> Any:
        found = ndb.get_multi(keys)
        for one in found[:2]:
            one.tags = [*one.tags, "in a transaction"]
            one.site.numbers.append(one.number)
        hooked = Hooked.query(ancestor=ndb.Key("Parent", 1)).fetch()
        for one in hooked:
            one.number += 100
        ndb.put_multi([*found[:2], *hooked])
        found[2].key.delete()
        return found, hooked

    found, hooked = ndb.transaction(inside)
    return found, hooked, _again(*keys, *(one.key for one in hooked))


@SCENARIOS(writes=True)
def rolled_back() -> Any:
    """The cache of the context is left alone."""
    before = _key().get()

    def inside() -> Any:
        found = _key().get()
        found.number += 100
        found.put()
        raise ndb.Rollback

    with pytest.raises(ndb.Rollback):
        ndb.transaction(inside)
    return _again(_key()), before, _key().get() is before


test_scenarios = SCENARIOS.test()


# Laziness.


def test_eager_ends_with_the_call(loopback_sides: Sides) -> None:
    """Calls made inside eager() give stock models throughout, read inside or outside."""
    with loopback_sides.lazy_context():
        with lazyentity.eager():
            first = _key().get_async()
            # The call is made when the loop has nothing else to do.
            get_context().eventloop.run()
        second = _key(2).get_async()
        one = first.result()
        assert storages([one, one.address, *one.addresses, one.site]) == {"dict"}
        assert storages(second.result()) == {"LazyValues"}


@pytest.mark.parametrize("projection", [None, [Item.number, Item.text]])
def test_results_reached_outside_of_eager(loopback_sides: Sides, projection: Any) -> None:
    """The decision belongs to the call: its results stay stock, or lazy."""
    with loopback_sides.lazy_context():
        iterator, lazy = Item.query().iter(projection=projection), Shape.query().iter()
        assert lazy.has_next()
        with lazyentity.eager():
            assert iterator.has_next()
            assert storages(next(lazy)) == {"LazyValues"}
        assert storages(next(iterator)) == {"dict"}


@pytest.mark.parametrize(
    "read",
    [
        lambda: _key().get(),
        lambda: ndb.get_multi(item_keys(1, 2))[0],
        lambda: Item.query().fetch()[0],
        lambda: next(iter(Item.query())),
        lambda: Item.query().map(lambda one: one)[0],
        lambda: Item.query().fetch_page(2)[0][0],
        lambda: Item.query(Item.parity.IN(["odd", "even"])).fetch()[0],
        lambda: ndb.transaction(lambda: _key().get()),
        *(lambda kind=kind: ndb.Key(kind, 1).get() for kind in (Shape, Hooked, Dotted)),
        lambda: ndb.Key(Loose, 2).get(),
    ],
)
def test_nothing_is_decoded(sides: Sides, read: Any) -> None:
    with sides.lazy_context():
        found = read()
        assert undecoded(found) == set(found._values) >= {"number"}


def test_what_is_read_is_decoded(loopback_sides: Sides) -> None:
    with loopback_sides.lazy_context():
        found = ndb.Key(Item, 1).get()
        names = set(found._values)
        assert found.to_dict(include=["number"]) == {"number": 1}
        assert undecoded(found) == names - {"number"}
        found.text = "assigned"
        del found.flag
        assert undecoded(found) == names - {"number", "t", "flag"}
        assert found.key.id() == 1
        assert found.tags == ["all", "tag 1"]
        assert found.tags is found.tags
        assert undecoded(found) == names - {"number", "t", "flag", "tags"}
        for nested in (found.address, found.addresses[1], found.site.address):
            assert isinstance(nested, Residence)
            assert undecoded(nested) == {"street", "c"}
            assert nested.city in ("odd", "even")
            assert undecoded(nested) == {"street"}
        constructed = ndb.Key(Constructed, 1).get()
        assert storages(constructed) == {"LazyValues"}
        assert "number" in undecoded(constructed)


# A profile counts a property when the attribute of a model is read.


@pytest.mark.parametrize(("kind", "count"), [(Item, COUNT), (Dotted, 2)])
def test_whole_models(loopback_sides: Sides, kind: Any, count: int) -> None:
    """``to_dict()`` of a model reads attribute by attribute, at the line that calls it."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in kind.query().fetch():
            found.to_dict()
    report, name = profile.report(), kind.__name__
    assert [each.kind for each in report.kinds] == [name], "models in models are no entities"
    # A computed property reads others, in the file of its model.
    files = {line.site.file for line in report.decoded if line.kind == name}
    assert files in ({__file__}, {__file__, stored.__file__})
    decoded = report.kinds[0].properties_decoded
    assert sum(line.times for line in report.decoded) == decoded >= count
    assert not report.advice


def test_parts_of_structured_properties(loopback_sides: Sides) -> None:
    """A structured property counts as the parts that the entity has."""
    with loopback_sides.lazy_context(), lazyentity.profile() as profile:
        for found in Dotted.query().fetch():
            found.address  # noqa: B018  # reads
    (kind,) = profile.report().kinds
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"address.street": 2, "address.c": 2}
