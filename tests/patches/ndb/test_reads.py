"""Reads by key give stock ndb's results from every caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import global_cache
from google.cloud.ndb.context import get_context

from tests.patches.ndb.caches import counted_calls
from tests.patches.ndb.describing import FIRST_VIEWS, attempt, describe
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import (
    ALL,
    MISSING,
    Circle,
    Constructed,
    Dotted,
    Hooked,
    Item,
    Loose,
    Shape,
    item_keys,
)


def _one_key_many_times() -> Any:
    found = ndb.get_multi(item_keys(1, 2, 1), use_cache=False)
    return found, found[0] is found[2]


def _constructed() -> Any:
    """A constructor runs, and stored values replace those that it sets."""
    found = ndb.Key(Constructed, 1).get()
    return found, found.noted, found.made


def _shapes() -> Any:
    """An entity is an instance of the class that it was stored by."""
    found = ndb.get_multi([ndb.Key(Shape, 1), ndb.Key(Shape, 2)])
    assert [type(one) for one in found] == [Shape, Circle]
    return found


SEVERAL_KINDS = [(Item, 1), (Shape, 1), (Shape, 2), (Hooked, 1), (Item, 2)]
READS: dict[str, Callable[[], Any]] = {
    "get": lambda: ndb.Key(Item, 1).get(),
    "get_by_id": lambda: Item.get_by_id(2),
    "get_async": lambda: [f.result() for f in [key.get_async() for key in item_keys(*ALL)]],
    "get_multi": lambda: ndb.get_multi(item_keys(*ALL)),
    "get_multi_async": lambda: [
        future.result() for future in ndb.get_multi_async(item_keys(3, 1, 2))
    ],
    "one key many times": _one_key_many_times,
    "missing": lambda: ndb.Key(Item, MISSING).get(),
    "some are missing": lambda: ndb.get_multi(item_keys(1, MISSING, 2, MISSING + 1, 3)),
    "past the cache": lambda: ndb.get_multi(item_keys(1, 2), use_cache=False),
    "eventual": lambda: ndb.get_multi(item_keys(1, 2), read_consistency=ndb.EVENTUAL),
    "several kinds": lambda: ndb.get_multi([ndb.Key(*pair) for pair in SEVERAL_KINDS]),
    "polymodel": _shapes,
    "constructor": _constructed,
}


class TestLookups:
    """Reads by key."""

    @pytest.mark.parametrize("read", READS.values(), ids=READS)
    def test_reads(self, sides: Sides, read: Callable[[], Any]) -> None:
        sides.check(read)

    def test_get_multi_async_of_which_some_are_cancelled(self, loopback_sides: Sides) -> None:
        def scenario() -> Any:
            futures = ndb.get_multi_async(item_keys(*ALL))
            for future in futures[::2]:
                future.cancel()
            states = [(future.done(), future.running()) for future in futures]
            return [states, *(attempt(future.result) for future in futures)]

        loopback_sides.check(scenario, lazy=None)

    def test_get_multi_async_with_a_policy_that_fails(self, loopback_sides: Sides) -> None:
        """Each future has the error of its own key."""

        def policy(key: Any) -> bool:
            if key.id() == 2:
                raise LookupError(key)
            return False

        def scenario() -> Any:
            futures = ndb.get_multi_async(item_keys(*ALL))
            return [[future.done() for future in futures], *(attempt(f.result) for f in futures)]

        loopback_sides.check(scenario, lazy=None, cache_policy=policy)

    @pytest.mark.parametrize("policy", ["cache_policy", "datastore_policy"])
    @pytest.mark.parametrize(
        "error", [ValueError(), KeyError(1), StopIteration(1), ndb.Return(1)], ids=repr
    )
    @pytest.mark.parametrize("cancelled", [False, True])
    def test_get_multi_async_ends_as_a_tasklet(
        self, loopback_sides: Sides, policy: str, error: Exception, cancelled: bool
    ) -> None:
        """A policy may raise anything: the loop goes on to serve others."""

        def fail(_: Any) -> bool:
            raise error

        def scenario() -> Any:
            context = get_context()
            getattr(context, f"set_{policy}")(fail)
            futures = ndb.get_multi_async(item_keys(*ALL))
            states = [[future.done() for future in futures]]
            if cancelled:
                for future in futures:
                    future.cancel()
                states.append([future.done() for future in futures])
            ended = [attempt(future.result) for future in futures]
            getattr(context, f"set_{policy}")(None)
            return [states, ended, Item.query().count()]

        loopback_sides.check(scenario, lazy=None)

    def test_get_multi_async_from_nowhere(self, loopback_sides: Sides) -> None:
        """With neither the cache nor the datastore to be asked."""

        def scenario() -> Any:
            futures = ndb.get_multi_async(item_keys(*ALL), use_datastore=False, use_cache=False)
            for future in futures[1:]:
                future.cancel()
            return [*(attempt(future.result) for future in futures), Item.query().count()]

        loopback_sides.check(scenario, lazy=None)

    @pytest.mark.parametrize("cached", [False, True])
    def test_policies_are_asked_as_often(self, loopback_sides: Sides, cached: bool) -> None:
        def scenario() -> Any:
            asked: list[Any] = []

            def policy(name: str) -> Any:
                def allow(key: Any) -> bool:
                    asked.append((name, type(key).__name__))
                    return True

                return allow

            context = get_context()
            for name in ("cache_policy", "datastore_policy", "global_cache_policy"):
                getattr(context, f"set_{name}")(policy(name))
            found = ndb.get_multi(item_keys(*ALL))
            # The batch of each key is looked for at another time.
            return [len(found), sorted(asked)]

        cache = global_cache._InProcessGlobalCache() if cached else None
        loopback_sides.check(scenario, lazy=None, global_cache=cache)

    def test_get_multi_async_ends_in_order(self, loopback_sides: Sides) -> None:
        def scenario() -> Any:
            ended: list[int] = []
            futures = ndb.get_multi_async(item_keys(*ALL))
            for number, future in enumerate(futures):
                future.add_done_callback(lambda _, number=number: ended.append(number))
            futures[-1].result()
            return [ended, [future.done() for future in futures], ended]

        loopback_sides.check(scenario, lazy=None)

    def test_get_or_insert_of_what_is_there(self, sides: Sides) -> None:
        def inserted() -> Any:
            first = Hooked.get_or_insert("a name", number=1)
            ndb.get_context().clear_cache()
            return first, Hooked.get_or_insert("a name", number=2)

        sides.check(inserted, lazy=None, writes=True)

    def test_class_that_is_not_defined(self, sides: Sides) -> None:
        def unknown() -> Any:
            with pytest.MonkeyPatch.context() as patching:
                patching.delitem(ndb.Model._kind_map, "Hooked")
                return ndb.Key("Hooked", 1).get()

        sides.check(unknown, works=False)

    def test_names_that_the_class_has_not(self, sides: Sides) -> None:
        """Stored names that are no properties any more are passed over."""

        class Smaller(ndb.Model):
            number = ndb.IntegerProperty()

            @classmethod
            def _get_kind(cls) -> str:
                return "Smaller"

        def smaller() -> Any:
            with pytest.MonkeyPatch.context() as patching:
                patching.setitem(ndb.Model._kind_map, "Hooked", Smaller)
                return ndb.Key("Hooked", 1).get(use_cache=False)

        sides.check(smaller, works=False)
        with pytest.MonkeyPatch.context() as patching:
            patching.setattr(Smaller, "_get_kind", classmethod(lambda cls: "Hooked"))
            sides.check(smaller)


@pytest.mark.parametrize("names", [("ndb",)], ids=["ndb"])
@pytest.mark.parametrize("kind", [Item, Dotted, Loose, Constructed])
@pytest.mark.parametrize("view", FIRST_VIEWS)
def test_whatever_is_done_first(loopback_sides: Sides, view: str, kind: Any) -> None:
    """Nothing has to be read of a model before something else works."""
    seen = []

    def first() -> Any:
        found = ndb.Key(kind, 1).get()
        described = describe([attempt(lambda: FIRST_VIEWS[view](found)), found])
        seen.append(described)
        return None

    loopback_sides.check(first)
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


def test_after_the_context(loopback_sides: Sides) -> None:
    """Models can be read when their context is gone."""
    sides = loopback_sides

    def read() -> Any:
        with sides.context():
            return ndb.get_multi([*item_keys(*ALL), ndb.Key(Dotted, 1), ndb.Key(Shape, 2)])

    expected = describe(read())
    with sides.lazily():
        assert describe(read()) == expected


class TestCalls:
    """The datastore gets the calls that stock ndb makes."""

    def test_one_for_many_keys(self, loopback_sides: Sides) -> None:
        def counted() -> Any:
            with counted_calls() as calls:
                return ndb.get_multi([*item_keys(*ALL, MISSING, 1), ndb.Key(Shape, 1)]), calls

        loopback_sides.check(counted)

    def test_one_for_each_set_of_options(self, loopback_sides: Sides) -> None:
        options = [
            {},
            {"use_cache": False},
            {"read_consistency": ndb.EVENTUAL},
            {"timeout": 5},
            {"retries": 1, "timeout": 5},
            {"timeout": 5, "retries": 1},
            {"use_cache": False},
        ]

        def counted() -> Any:
            with counted_calls() as calls:
                futures = [
                    key.get_async(**chosen)
                    for key, chosen in zip(item_keys(*ALL), options, strict=True)
                ]
                multi = ndb.get_multi(item_keys(1, 2), use_cache=False)
                return [future.result() for future in futures], multi, calls

        loopback_sides.check(counted)

    def test_none_for_no_keys(self, loopback_sides: Sides) -> None:
        def counted() -> Any:
            with counted_calls() as calls:
                return ndb.get_multi([]), calls

        loopback_sides.check(counted)

    @pytest.mark.parametrize("options", [{"nonsense": 1}, {"timeout": 1, "deadline": 1}])
    def test_wrong_options(self, loopback_sides: Sides, options: Any) -> None:
        loopback_sides.check(lambda: ndb.get_multi(item_keys(1, 2), **options), works=False)
        loopback_sides.check(lambda: ndb.Key(Item, 1).get(**options), works=False)
