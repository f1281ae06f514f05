"""Results of a query ask what stock ndb's results ask: keys, the context's cache, its policy."""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from typing import Any
from unittest import mock

import pytest
from google.cloud import ndb
from google.cloud.ndb import _datastore_query
from google.cloud.ndb.context import Context, get_context

import lazyentity
from lazyentity.patches.ndb.models import ModelMaker
from tests.patches.ndb.model_snapshots import describe
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import COUNT, Item


def _fetch() -> Any:
    return Item.query().order(Item.number).fetch()


def _counting(name: str, calls: list[Any]) -> Any:
    """Replace a method of the results by one that counts its calls."""
    original = getattr(_datastore_query._Result, name)

    def counting(result: Any, *args: Any) -> Any:
        calls.append(name)
        return original(result, *args)

    return mock.patch.object(_datastore_query._Result, name, counting)


@pytest.mark.parametrize("name", ["key", "check_cache", "entity"])
@pytest.mark.parametrize("comes_first", [False, True])
def test_a_replaced_method_is_called_as_often(
    loopback_sides: Sides, name: str, comes_first: bool
) -> None:
    """Before the patch or after it."""
    stock: list[Any] = []
    with loopback_sides.context(), _counting(name, stock):
        expected = describe(_fetch())
    lazy: list[Any] = []
    with loopback_sides.context():
        if comes_first:
            with _counting(name, lazy), loopback_sides.lazily():
                assert describe(_fetch()) == expected
        else:
            with loopback_sides.lazily(), _counting(name, lazy):
                assert describe(_fetch()) == expected
    if name == "entity" and comes_first:
        # The patch replaces it, as before.
        assert lazy == []
    else:
        assert lazy == stock != []


FUNCTIONS = [
    (_datastore_query, "iterate"),
    (_datastore_query, "_datastore_run_query"),
    (_datastore_query.Cursor, "__init__"),
    (_datastore_query._QueryIteratorImpl, "__init__"),
    *((_datastore_query._QueryIteratorImpl, name) for name in ("_next_batch", "next", "has_next")),
    (_datastore_query._Result, "__init__"),
    (Context, "_use_cache"),
    # The references of the items have keys, too.
    (ndb.Key, "_from_ds_key"),
    (ndb.Model, "_lookup_model"),
]


@pytest.mark.parametrize(("holder", "name"), FUNCTIONS)
@pytest.mark.parametrize("comes_first", [False, True])
def test_a_replaced_function_is_called_as_often(
    loopback_sides: Sides, holder: Any, name: str, comes_first: bool
) -> None:
    """Before the patch or after it: for the results and for their models."""
    kept = inspect.getattr_static(holder, name)
    is_of_class = isinstance(kept, classmethod)
    original: Any = kept.__func__ if is_of_class else kept
    calls: list[Any] = []

    def counting(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return original(*args, **kwargs)

    replacement = classmethod(counting) if is_of_class else counting
    replaced = mock.patch.object(holder, name, replacement)

    def scenario() -> Any:
        calls.clear()
        with nullcontext() if comes_first else replaced:
            found = _fetch()
        assert calls
        return found, len(calls)

    with replaced if comes_first else nullcontext():
        loopback_sides.check(scenario, lazy=None if is_of_class else True)


@pytest.mark.parametrize("policy", [None, False])
def test_nothing_is_called_for_a_result(loopback_sides: Sides, policy: Any) -> None:
    """Of models that nobody's code takes part in; of others, all that stock ndb calls."""
    made: list[Any] = []
    original = ModelMaker.make

    def make(maker: Any, protobuf: Any, ds_key: Any) -> Any:
        made.append(original(maker, protobuf, ds_key))
        return made[-1]

    with (
        loopback_sides.lazy_context(cache_policy=policy) as context,
        mock.patch.object(ModelMaker, "make", make),
    ):
        assert _fetch() == made
        context.clear_cache()
        made.clear()
        with mock.patch.object(Item, "_get_kind", classmethod(lambda _: "Item")):
            assert len(_fetch()) == COUNT
        assert made == [None]
        made.clear()
        context.set_cache_policy(lambda _: False)
        assert len(_fetch()) == COUNT
        assert made == []


def test_a_result_may_have_a_method_of_its_own(loopback_sides: Sides) -> None:
    """An attribute of the result goes before the class."""

    def scenario() -> Any:
        context = get_context()
        query = ndb.QueryOptions(
            kind="Item",
            project=loopback_sides.client.project,
            namespace=context.get_namespace(),
        )
        results = _datastore_query.iterate(query, raw=True)
        assert results.has_next()
        first, second = results.next(), results.next()
        first.check_cache = lambda context: "cached"
        cached = Item(id=99)
        context.cache[cached.key] = cached
        second.key = lambda: cached.key
        return first.entity(), second.entity() is cached

    loopback_sides.check(scenario, lazy=None)


def test_what_the_cache_has_is_asked_for_again(loopback_sides: Sides) -> None:
    """A model that another query cached meanwhile is the result; a changed key is none."""

    def scenario() -> Any:
        cache = get_context().cache
        iterator = Item.query().order(Item.number).iter()
        first = next(iterator)
        kept = Item.query().order(Item.number).fetch()
        kept[1]._key = ndb.Key("Item", 99)
        cache[kept[2].key] = None
        found = [next(iterator) for _ in range(3)]
        same = [one is other for one, other in zip(found, kept[1:], strict=False)]
        return first is kept[0], found, same, [one and one.key for one in found]

    loopback_sides.check(scenario)


def test_the_patch_ends_before_the_results(loopback_sides: Sides) -> None:
    """The rest becomes models of ndb's own, of the keys that the results have."""
    with loopback_sides.context(cache_policy=False):
        expected = describe(_fetch())
        lazyentity.patch(*loopback_sides._names)
        try:
            iterator = Item.query().order(Item.number).iter()
            found = [next(iterator)]
        finally:
            lazyentity.unpatch()
        found += iterator
        assert describe(found) == expected
