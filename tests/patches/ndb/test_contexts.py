"""Contexts and their caches, tasklets, hooks and transactions, as in stock ndb."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import ndb

import lazyentity
from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Scenarios, Sides
from tests.patches.ndb.stored import (
    MISSING,
    REFUSED,
    Constructed,
    Dotted,
    Hooked,
    Item,
    Loose,
    Shape,
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


@ON_EACH_SERVER()
def one_object_for_a_key() -> Any:
    first = _key().get()
    first.number = 1000
    past = [_key().get(use_cache=False) for _ in range(2)]
    assert _key().get() is first
    assert Item.query(Item.parity == "odd").order(Item.number).get() is first
    found = Item.query().fetch()
    same = [_key(one.key.id()).get() is one for one in found]
    ndb.get_context().clear_cache()
    return first, past, past[0] is past[1], first in past, found, same, _key().get() is first


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


@ON_EACH_SERVER()
def tasklets() -> Any:
    @ndb.tasklet
    def get_and_query(number: int) -> Any:
        one, others = yield (
            _key(number).get_async(),
            Item.query(Item.parity == "even").order(Item.number).fetch_async(2),
        )
        raise ndb.Return((one, others, one.number + len(others)))

    @ndb.synctasklet
    def several() -> Any:
        # Of a model in both, the cache has the one that comes first, which differs from run to run.
        results = yield [get_and_query(number) for number in (1, 3, 5)]
        return results

    @ndb.toplevel
    def at_top() -> Any:
        found = yield ndb.get_multi_async(item_keys(1, 2))
        return found

    return several(), at_top()


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


@ON_ONE_SERVER(works=False)
def hook_that_refuses() -> Any:
    return ndb.get_multi([ndb.Key(Hooked, 1), ndb.Key(Hooked, REFUSED)])


@ON_ONE_SERVER()
def context_inside_another() -> Any:
    """Models read in an inner context are in the outer context's cache afterwards."""
    outer = ndb.get_context()
    first = _key().get()
    with outer.new(cache=type(outer.cache)()).use() as inner:
        again = _key().get()
        second = _key(2).get()
        seen = [ndb.get_context() is inner, again is first]
    seen += [ndb.get_context() is outer, _key(2).get() is second]
    return first, second, seen, _key().get() is again


@ON_ONE_SERVER()
def contexts_that_fail_or_have_nothing() -> Any:
    outer = ndb.get_context()
    with pytest.raises(LookupError), outer.new().use():
        raise LookupError(_key().get())
    seen = [ndb.get_context() is outer, _key().get()]
    with outer.new(namespace="nothing is stored here").use():
        return seen, _key().get(), Item.query().fetch()


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


@ON_EACH_SERVER(writes=True, legacy_data=False)
def transaction_of_a_tasklet() -> Any:
    @ndb.tasklet
    def inside() -> Any:
        found = yield _key().get_async()
        found.number += 1
        yield found.put_async()
        raise ndb.Return(found)

    return [ndb.transaction_async(inside).result(), *_again(_key())]


@ON_EACH_SERVER(writes=True, legacy_data=False)
def transaction_by_a_decorator() -> Any:
    @ndb.transactional()
    def inside(number: int) -> Any:
        assert ndb.in_transaction()
        return _changed(_key(number).get())

    return [inside(2), *_again(_key(2))]


@ON_EACH_SERVER(writes=True)
def model_read_before_the_transaction() -> Any:
    """It is another object than one read in it."""
    before = _key().get()
    read = ndb.transaction(lambda: _key().get(), read_only=True)
    inside = ndb.transaction(lambda: _changed(_key().get()))
    return before, read, before is read, inside, before is inside, _key().get() is inside


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


@ON_ONE_SERVER(writes=True, legacy_data=False)
def transaction_that_is_retried() -> Any:
    """An exception that is transient has the whole of it done again, on new reads."""
    seen = []

    def inside() -> Any:
        found = _key().get()
        seen.append(found.number)
        _changed(found)
        if len(seen) == 1:
            raise exceptions.ServiceUnavailable("for a test")
        return found

    return [ndb.transaction(inside), seen, *_again(_key())]


@ON_ONE_SERVER()
def reads_in_a_transaction() -> Any:
    query = Hooked.query(ancestor=ndb.Key(*PARENT))
    return ndb.transaction(lambda: [_key().get(), *query.fetch()])


test_on_each_server = ON_EACH_SERVER.on_each_server()
test_on_one_server = ON_ONE_SERVER.on_one_server()


@pytest.mark.parametrize("names", [("ndb",)], ids=["ndb"])
@pytest.mark.parametrize("kind", [Item, Dotted, Shape, Hooked, Constructed, Loose])
@pytest.mark.parametrize("legacy", [True, False], ids=["legacy", "modern"])
def test_transactions_of_every_kind(loopback_sides: Sides, kind: Any, *, legacy: bool) -> None:
    def change() -> Any:
        key = ndb.Key(kind, 1)
        ndb.transaction(lambda: _changed(key.get()))
        return _again(key)

    loopback_sides.check(change, writes=True, lazy=None, legacy_data=legacy)
