"""Contexts and their caches, tasklets, hooks and transactions, as in stock ndb."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb

import lazyentity
from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import (
    MISSING,
    Hooked,
    Item,
    item_keys,
)

ON_EACH_SERVER, ON_ONE_SERVER = Scenarios(), Scenarios()
PARENT = ("Parent", 1)


class Failed(Exception):
    """The error that ends a transaction."""


def _key(number: int = 1) -> Any:
    return ndb.Key(Item, number)


def _changed(found: Any) -> Any:
    found.number += 100
    found.put()
    return found


def _again(*keys: Any) -> Any:
    return ndb.get_multi(keys, use_cache=False)


@ON_EACH_SERVER(writes=True, legacy_data=False)
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


def _one_object() -> Any:
    return [key.get() is key.get() for key in item_keys(1, 2)]


ON_EACH_SERVER.add("nothing is cached", _one_object, cache_policy=lambda _: False)
ON_EACH_SERVER.add("one is cached", _one_object, cache_policy=lambda key: key.id() == 1)
ON_EACH_SERVER.add("no policy", _one_object, cache_policy=None)


def test_eager_ends_with_the_call(loopback_sides: Sides) -> None:
    """Calls made inside eager() give stock models, read inside or outside."""
    with loopback_sides.lazy_context():
        with lazyentity.eager():
            first = _key().get_async()
            # The call is made when the loop has nothing else to do.
            ndb.get_context().eventloop.run()
        second = _key(2).get_async()
        assert storages(first.result()) == {"dict"}
        assert storages(second.result()) == {"LazyValues"}


@ON_EACH_SERVER()
def hooks_before_and_after_a_get() -> Any:
    Hooked.asked.clear()
    Hooked.got.clear()
    found = ndb.get_multi([ndb.Key(Hooked, number) for number in (2, 1, MISSING)])
    got, Hooked.got = Hooked.got, []
    ndb.Key(Hooked, 2).get()
    seen = [model is None or model in found for _, model in got]
    return found, got, seen, [*Hooked.asked], Hooked.get_by_id(1) is found[1]


@ON_EACH_SERVER(writes=True, legacy_data=False)
def transaction_of_get_multi_put_multi_and_delete() -> Any:
    keys = item_keys(1, 2, 3)

    def inside() -> Any:
        found = ndb.get_multi(keys)
        for one in found[:2]:
            one.tags = [*one.tags, "in a transaction"]
            one.site.numbers.append(one.number)
        ndb.put_multi(found[:2])
        found[2].key.delete()
        return found

    return [ndb.transaction(inside), _again(*keys)]


@ON_EACH_SERVER(writes=True)
def transaction_of_a_query() -> Any:
    query = Hooked.query(ancestor=ndb.Key(*PARENT))
    changed = ndb.transaction(lambda: [_changed(one) for one in query.fetch()])
    return [changed, _again(*(one.key for one in changed))]


def _rolled_back(error: type[Exception]) -> Any:
    before = _key().get()

    def inside() -> Any:
        _changed(_key().get())
        raise error

    with pytest.raises(error):
        ndb.transaction(inside)
    # The cache of the context is left alone.
    return _again(_key()), before, _key().get() is before


ON_EACH_SERVER.add("rolled back", lambda: _rolled_back(Failed), writes=True)
ON_EACH_SERVER.add("rolled back by ndb", lambda: _rolled_back(ndb.Rollback), writes=True)


@ON_ONE_SERVER()
def reads_in_a_transaction() -> Any:
    query = Hooked.query(ancestor=ndb.Key(*PARENT))
    return ndb.transaction(lambda: [_key().get(), *query.fetch()])


test_on_each_server = ON_EACH_SERVER.on_each_server()
test_on_one_server = ON_ONE_SERVER.on_one_server()
