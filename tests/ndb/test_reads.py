"""Reads by key, whatever asks for them, give what stock ndb gives."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import global_cache
from google.cloud.ndb.context import get_context

import lazyentity
from lazyentity.undecoded import UNDECODED
from tests.ndb.caches import counted_calls
from tests.ndb.describing import FIRST_VIEWS, attempt, describe, storages
from tests.ndb.sides import Sides
from tests.ndb.stored import (
    COUNT,
    REFUSED,
    Circle,
    Constructed,
    Dotted,
    Hooked,
    Item,
    Loose,
    Residence,
    Shape,
)


def _keys(*numbers: int) -> list[Any]:
    return [ndb.Key(Item, number) for number in numbers]


ALL = range(1, COUNT + 1)
MISSING = COUNT + 1


class TestLookups:
    """Reads by key."""

    def test_get(self, sides: Sides) -> None:
        sides.check(lambda: ndb.Key(Item, 1).get())

    def test_get_by_id(self, sides: Sides) -> None:
        sides.check(lambda: Item.get_by_id(2))

    def test_get_multi_async_of_which_some_are_cancelled(self, loopback_sides: Sides) -> None:
        def scenario() -> Any:
            futures = ndb.get_multi_async(_keys(*ALL))
            for future in futures[::2]:
                future.cancel()
            states = [(future.done(), future.running()) for future in futures]
            return [states, *(attempt(future.result) for future in futures)]

        loopback_sides.check(scenario, lazy=None)

    def test_get_multi_async_with_a_policy_that_fails(self, loopback_sides: Sides) -> None:
        """Each future has what went wrong with its own key."""

        def policy(key: Any) -> bool:
            if key.id() == 2:
                raise LookupError(key)
            return False

        def scenario() -> Any:
            futures = ndb.get_multi_async(_keys(*ALL))
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
        """Whatever a policy raises; and the loop goes on to serve others."""

        def fail(_: Any) -> bool:
            raise error

        def scenario() -> Any:
            context = get_context()
            getattr(context, f"set_{policy}")(fail)
            futures = ndb.get_multi_async(_keys(*ALL))
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
            futures = ndb.get_multi_async(_keys(*ALL), use_datastore=False, use_cache=False)
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
            found = ndb.get_multi(_keys(*ALL))
            # The batch of each key is looked for at another time.
            return [len(found), sorted(asked)]

        cache = global_cache._InProcessGlobalCache() if cached else None
        loopback_sides.check(scenario, lazy=None, global_cache=cache)

    def test_get_multi_async_ends_in_order(self, loopback_sides: Sides) -> None:
        def scenario() -> Any:
            ended: list[int] = []
            futures = ndb.get_multi_async(_keys(*ALL))
            for number, future in enumerate(futures):
                future.add_done_callback(lambda _, number=number: ended.append(number))
            futures[-1].result()
            return [ended, [future.done() for future in futures], ended]

        loopback_sides.check(scenario, lazy=None)

    def test_get_async(self, sides: Sides) -> None:
        sides.check(lambda: [f.result() for f in [key.get_async() for key in _keys(*ALL)]])

    def test_get_multi(self, sides: Sides) -> None:
        sides.check(lambda: ndb.get_multi(_keys(*ALL)))

    def test_get_multi_async(self, sides: Sides) -> None:
        sides.check(lambda: [future.result() for future in ndb.get_multi_async(_keys(3, 1, 2))])

    def test_one_key_many_times(self, sides: Sides) -> None:
        def same() -> Any:
            found = ndb.get_multi(_keys(1, 2, 1), use_cache=False)
            return found, found[0] is found[2]

        sides.check(same)

    def test_missing(self, sides: Sides) -> None:
        sides.check(lambda: ndb.Key(Item, MISSING).get())

    def test_some_are_missing(self, sides: Sides) -> None:
        sides.check(lambda: ndb.get_multi(_keys(1, MISSING, 2, MISSING + 1, 3)))

    @pytest.mark.parametrize("options", [{"use_cache": False}, {"read_consistency": ndb.EVENTUAL}])
    def test_options(self, sides: Sides, options: dict[str, Any]) -> None:
        sides.check(lambda: ndb.get_multi(_keys(1, 2), **options))

    def test_get_or_insert_of_what_is_there(self, sides: Sides) -> None:
        def inserted() -> Any:
            first = Hooked.get_or_insert("a name", number=1)
            ndb.get_context().clear_cache()
            return first, Hooked.get_or_insert("a name", number=2)

        sides.check(inserted, lazy=None, writes=True)

    def test_several_kinds(self, sides: Sides) -> None:
        keys = [(Item, 1), (Shape, 1), (Shape, 2), (Hooked, 1), (Item, 2)]
        sides.check(lambda: ndb.get_multi([ndb.Key(kind, number) for kind, number in keys]))

    def test_polymodel(self, sides: Sides) -> None:
        """An entity is an instance of the class that it was stored by."""

        def shapes() -> Any:
            found = ndb.get_multi([ndb.Key(Shape, 1), ndb.Key(Shape, 2)])
            assert [type(one) for one in found] == [Shape, Circle]
            return found

        sides.check(shapes)

    def test_constructor(self, sides: Sides) -> None:
        """A constructor runs, and what was stored goes over what it sets."""

        def constructed() -> Any:
            found = ndb.Key(Constructed, 1).get()
            return found, found.noted, found.made

        sides.check(constructed)

    def test_class_that_is_not_defined(self, sides: Sides) -> None:
        def unknown() -> Any:
            with pytest.MonkeyPatch.context() as patching:
                patching.delitem(ndb.Model._kind_map, "Hooked")
                return ndb.Key("Hooked", 1).get()

        sides.check(unknown, works=False)

    def test_names_that_the_class_has_not(self, sides: Sides) -> None:
        """What was stored and is no property any more is passed over."""

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
    """What was read can be looked into when the context is gone."""
    sides = loopback_sides

    def read() -> Any:
        with sides.context():
            return ndb.get_multi([*_keys(*ALL), ndb.Key(Dotted, 1), ndb.Key(Shape, 2)])

    expected = describe(read())
    with sides.lazily():
        assert describe(read()) == expected


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
            return [key.get() is key.get() for key in _keys(1, 2)]

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
            found = yield ndb.get_multi_async(_keys(1, 2))
            return found

        sides.check(read)

    def test_synctasklet(self, sides: Sides) -> None:
        @ndb.synctasklet
        def read() -> Any:
            found = yield ndb.Key(Item, 1).get_async()
            return found

        sides.check(read)

    def test_eager_ends_with_the_call(self, loopback_sides: Sides) -> None:
        """Calls that are made inside eager() are stock, wherever their results are looked at."""
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


class TestCalls:
    """What is asked of the datastore is what stock ndb asks of it."""

    def test_one_for_many_keys(self, loopback_sides: Sides) -> None:
        def counted() -> Any:
            with counted_calls() as calls:
                return ndb.get_multi([*_keys(*ALL, MISSING, 1), ndb.Key(Shape, 1)]), calls

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
                    for key, chosen in zip(_keys(*ALL), options, strict=True)
                ]
                multi = ndb.get_multi(_keys(1, 2), use_cache=False)
                return [future.result() for future in futures], multi, calls

        loopback_sides.check(counted)

    def test_none_for_no_keys(self, loopback_sides: Sides) -> None:
        def counted() -> Any:
            with counted_calls() as calls:
                return ndb.get_multi([]), calls

        loopback_sides.check(counted)

    @pytest.mark.parametrize("options", [{"nonsense": 1}, {"timeout": 1, "deadline": 1}])
    def test_wrong_options(self, loopback_sides: Sides, options: Any) -> None:
        loopback_sides.check(lambda: ndb.get_multi(_keys(1, 2), **options), works=False)
        loopback_sides.check(lambda: ndb.Key(Item, 1).get(**options), works=False)


class TestContexts:
    def test_inside_another(self, loopback_sides: Sides) -> None:
        """What is read in a context inside another is in the other's cache afterwards."""

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


class TestEager:
    """Reads inside eager() are stock ndb's."""

    @pytest.mark.parametrize("kind", [Item, Dotted, Loose, Shape, Hooked, Constructed])
    def test_get(self, loopback_sides: Sides, kind: Any) -> None:
        with loopback_sides.lazy_context():
            with lazyentity.eager():
                found = ndb.Key(kind, 1).get()
            assert storages(found) == {"dict"}

    def test_nested_models(self, loopback_sides: Sides) -> None:
        with loopback_sides.lazy_context():
            with lazyentity.eager():
                found = ndb.Key(Item, 1).get()
            assert storages([found.address, *found.addresses, found.site]) == {"dict"}

    def test_query(self, loopback_sides: Sides) -> None:
        with loopback_sides.lazy_context():
            with lazyentity.eager():
                found = Item.query().fetch()
            assert len(found) == COUNT
            assert storages(found) == {"dict"}

    @pytest.mark.parametrize("projection", [None, [Item.number, Item.text]])
    def test_results_reached_outside(self, loopback_sides: Sides, projection: Any) -> None:
        """The decision belongs to the call: its results stay stock."""
        with loopback_sides.lazy_context():
            iterator = Item.query().iter(projection=projection)
            with lazyentity.eager():
                assert iterator.has_next()
            assert storages(next(iterator)) == {"dict"}

    def test_results_reached_inside(self, loopback_sides: Sides) -> None:
        """And those of a call that was made outside stay lazy."""
        with loopback_sides.lazy_context():
            iterator = Item.query().iter()
            assert iterator.has_next()
            with lazyentity.eager():
                assert storages(next(iterator)) == {"LazyValues"}


def _undecoded(model: Any) -> set[str]:
    return {name for name in model._values if dict.get(model._values, name) is UNDECODED}


class TestLaziness:
    """Of a model, nothing is decoded that is not read."""

    @pytest.mark.parametrize(
        "read",
        [
            lambda: ndb.Key(Item, 1).get(),
            lambda: ndb.get_multi(_keys(1, 2))[0],
            lambda: Item.query().fetch()[0],
            lambda: Item.query(Item.parity == "odd").get(),
            lambda: next(iter(Item.query())),
            lambda: Item.query().map(lambda one: one)[0],
            lambda: Item.query().fetch_page(2)[0][0],
            lambda: Item.query(Item.parity.IN(["odd", "even"])).fetch()[0],
            lambda: ndb.transaction(lambda: ndb.Key(Item, 1).get()),
        ],
    )
    def test_nothing_is_decoded(self, sides: Sides, read: Any) -> None:
        with sides.lazy_context():
            found = read()
            assert type(found._values).__name__ == "LazyValues"
            assert _undecoded(found) == set(found._values) > {"number", "t", "address"}

    def test_what_is_read_is_decoded(self, loopback_sides: Sides) -> None:
        with loopback_sides.lazy_context():
            found = ndb.Key(Item, 1).get()
            names = set(found._values)
            assert found.number == 1
            assert _undecoded(found) == names - {"number"}
            found.text = "assigned"
            del found.flag
            assert _undecoded(found) == names - {"number", "t", "flag"}
            assert found.key.id() == 1
            assert found.tags == ["all", "tag 1"]
            assert found.tags is found.tags
            assert _undecoded(found) == names - {"number", "t", "flag", "tags"}

    def test_to_dict_of_some(self, loopback_sides: Sides) -> None:
        with loopback_sides.lazy_context():
            found = ndb.Key(Item, 1).get()
            assert found.to_dict(include=["number"]) == {"number": 1}
            assert _undecoded(found) == set(found._values) - {"number"}

    def test_nested_models(self, loopback_sides: Sides) -> None:
        with loopback_sides.lazy_context():
            found = ndb.Key(Item, 1).get()
            for nested in (found.address, found.addresses[1], found.site.address):
                assert isinstance(nested, Residence)
                assert _undecoded(nested) == {"street", "c"}
                assert nested.city in ("odd", "even")
                assert _undecoded(nested) == {"street"}

    @pytest.mark.parametrize("kind", [Shape, Hooked, Constructed])
    def test_other_models(self, loopback_sides: Sides, kind: Any) -> None:
        with loopback_sides.lazy_context():
            found = ndb.Key(kind, 1).get()
            assert storages(found) == {"LazyValues"}
            assert "number" in _undecoded(found)

    def test_expando(self, loopback_sides: Sides) -> None:
        with loopback_sides.lazy_context():
            found = ndb.Key(Loose, 2).get()
            assert storages(found) == {"LazyValues"}
            assert _undecoded(found) == set(found._values)

    def test_legacy_structured_properties(self, loopback_sides: Sides) -> None:
        """Several stored names make one property: ndb puts them together."""
        with loopback_sides.lazy_context():
            assert storages(ndb.Key(Dotted, 1).get()) == {"dict"}
