"""Contexts and their caches, tasklets and hooks, as in stock ndb."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb

import lazyentity
from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import (
    MISSING,
    REFUSED,
    Hooked,
    Item,
    item_keys,
)


class TestContextCache:
    """One context gives one object for a key."""

    def test_gives_the_same_object(self, sides: Sides) -> None:
        def twice() -> Any:
            first = ndb.Key(Item, 1).get()
            first.number = 1000
            again = ndb.Key(Item, 1).get()
            queried = Item.query(Item.parity == "odd").order(Item.number).get()
            return first, again is first, queried is first

        assert sides.check(twice)[1][1:] == [["bool", "True", None]] * 2

    def test_is_filled_by_queries(self, sides: Sides) -> None:
        def twice() -> Any:
            found = Item.query().fetch()
            return [ndb.Key(Item, one.key.id()).get() is one for one in found]

        sides.check(twice)

    def test_is_passed_over(self, sides: Sides) -> None:
        def twice() -> Any:
            first = ndb.Key(Item, 1).get(use_cache=False)
            first.number = 1000
            again = ndb.Key(Item, 1).get(use_cache=False)
            return first, again, again is first, first == again

        sides.check(twice)

    @pytest.mark.parametrize("policy", [lambda key: False, lambda key: key.id() == 1, None])
    def test_policy(self, sides: Sides, policy: Any) -> None:
        def twice() -> Any:
            return [key.get() is key.get() for key in item_keys(1, 2)]

        sides.check(twice, cache_policy=policy)

    def test_clearing(self, sides: Sides) -> None:
        def twice() -> Any:
            first = ndb.Key(Item, 1).get()
            ndb.get_context().clear_cache()
            return first, ndb.Key(Item, 1).get() is first

        sides.check(twice)

    def test_remembers_what_is_missing_and_deleted(self, sides: Sides) -> None:
        def deleted() -> Any:
            key = ndb.Key(Item, 1)
            found = key.get()
            key.delete()
            return found, key.get(), Item.query().order(Item.number).fetch(keys_only=True)

        sides.check(deleted, writes=True)

    def test_written_model_is_what_a_get_gives(self, sides: Sides) -> None:
        def written() -> Any:
            found = ndb.Key(Item, 1).get()
            found.text = "changed"
            found.tags.append("one more")
            found.site.numbers.append(3)
            found.put()
            read = found.key.get(use_cache=False)
            return found, found.key.get() is found, read, read == found

        sides.check(written, writes=True, legacy_data=False)


class TestTasklets:
    def test_get_and_query(self, sides: Sides) -> None:
        @ndb.tasklet
        def both(number: int) -> Any:
            one, others = yield (
                ndb.Key(Item, number).get_async(),
                Item.query(Item.parity == "even").order(Item.number).fetch_async(2),
            )
            raise ndb.Return((one, others, one.number + len(others)))

        @ndb.tasklet
        def all_of_them() -> Any:
            results = yield [both(number) for number in (1, 2, 3)]
            return results

        sides.check(lambda: all_of_them().result())

    def test_toplevel(self, sides: Sides) -> None:
        @ndb.toplevel
        def read() -> Any:
            found = yield ndb.get_multi_async(item_keys(1, 2))
            return found

        sides.check(read)

    def test_synctasklet(self, sides: Sides) -> None:
        @ndb.synctasklet
        def read() -> Any:
            found = yield ndb.Key(Item, 1).get_async()
            return found

        sides.check(read)

    def test_eager_ends_with_the_call(self, loopback_sides: Sides) -> None:
        """Calls made inside eager() give stock models, read inside or outside."""
        with loopback_sides.lazy_context():
            with lazyentity.eager():
                first = ndb.Key(Item, 1).get_async()
                # The call is made when the loop has nothing else to do.
                ndb.get_context().eventloop.run()
            second = ndb.Key(Item, 2).get_async()
            assert storages(first.result()) == {"dict"}
            assert storages(second.result()) == {"LazyValues"}


class TestHooks:
    def test_after_a_get(self, sides: Sides) -> None:
        def hooked() -> Any:
            Hooked.got.clear()
            found = ndb.get_multi([ndb.Key(Hooked, number) for number in (1, 2, MISSING)])
            got, Hooked.got = Hooked.got, []
            return found, got, [model is None or model in found for _, model in got]

        sides.check(hooked)

    def test_before_a_get(self, sides: Sides) -> None:
        def hooked() -> Any:
            Hooked.asked.clear()
            found = ndb.get_multi([ndb.Key(Hooked, number) for number in (2, 1, MISSING)])
            ndb.Key(Hooked, 2).get()
            asked = [*Hooked.asked]
            return found, asked, Hooked.get_by_id(1) is found[1]

        sides.check(hooked)

    def test_that_refuses(self, loopback_sides: Sides) -> None:
        loopback_sides.check(
            lambda: ndb.get_multi([ndb.Key(Hooked, 1), ndb.Key(Hooked, REFUSED)]), works=False
        )


class TestContexts:
    def test_inside_another(self, loopback_sides: Sides) -> None:
        """Models read in an inner context are in the outer context's cache afterwards."""

        def nested() -> Any:
            outer = ndb.get_context()
            first = ndb.Key(Item, 1).get()
            with outer.new(cache=type(outer.cache)()).use() as inner:
                again = ndb.Key(Item, 1).get()
                second = ndb.Key(Item, 2).get()
                seen = [ndb.get_context() is inner, again is first]
            seen += [ndb.get_context() is outer, ndb.Key(Item, 2).get() is second]
            return first, second, seen, ndb.Key(Item, 1).get() is again

        loopback_sides.check(nested)

    def test_that_fails(self, loopback_sides: Sides) -> None:
        def failing() -> Any:
            outer = ndb.get_context()

            def inside() -> None:
                with outer.new().use():
                    ndb.Key(Item, 1).get()
                    raise LookupError

            with pytest.raises(LookupError):
                inside()
            return ndb.get_context() is outer, ndb.Key(Item, 1).get()

        loopback_sides.check(failing)

    def test_of_another_namespace(self, loopback_sides: Sides) -> None:
        def elsewhere() -> Any:
            with ndb.get_context().new(namespace="nothing is stored here").use():
                return ndb.Key(Item, 1).get(), Item.query().fetch()

        loopback_sides.check(elsewhere)
