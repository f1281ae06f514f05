"""Transactions: reads and writes in them, and the state after they fail."""

from __future__ import annotations

from typing import Any

import pytest
from google.api_core import exceptions
from google.cloud import ndb

from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import Constructed, Dotted, Hooked, Item, Loose, Shape


class Failed(Exception):
    """The error that ends a transaction."""


def _changed(found: Any) -> Any:
    found.number += 100
    found.put()
    return found


def _again(*keys: Any) -> Any:
    return ndb.get_multi(keys, use_cache=False)


def _key(number: int = 1) -> Any:
    return ndb.Key(Item, number)


class TestCommitted:
    def test_get_and_put(self, sides: Sides) -> None:
        def change() -> Any:
            found = ndb.transaction(lambda: _changed(_key().get()))
            return [found, *_again(found.key)]

        sides.check(change, writes=True, legacy_data=False)

    @pytest.mark.parametrize("names", [("ndb",)], ids=["ndb"])
    @pytest.mark.parametrize("kind", [Item, Dotted, Shape, Hooked, Constructed, Loose])
    @pytest.mark.parametrize("legacy", [True, False], ids=["legacy", "modern"])
    def test_every_kind(self, loopback_sides: Sides, kind: Any, *, legacy: bool) -> None:
        def change() -> Any:
            key = ndb.Key(kind, 1)
            ndb.transaction(lambda: _changed(key.get()))
            return _again(key)

        loopback_sides.check(change, writes=True, lazy=None, legacy_data=legacy)

    def test_get_multi_and_put_multi(self, sides: Sides) -> None:
        def change() -> Any:
            keys = [_key(number) for number in (1, 2, 3)]

            def inside() -> Any:
                found = ndb.get_multi(keys)
                for one in found[:2]:
                    one.tags = [*one.tags, "in a transaction"]
                    one.site.numbers.append(one.number)
                ndb.put_multi(found)
                return found

            return [ndb.transaction(inside), _again(*keys)]

        sides.check(change, writes=True, legacy_data=False)

    def test_query(self, sides: Sides) -> None:
        def change() -> Any:
            parent = ndb.Key("Parent", 1)

            def inside() -> Any:
                found = Hooked.query(ancestor=parent).fetch()
                return [_changed(one) for one in found]

            changed = ndb.transaction(inside)
            return [changed, _again(*(one.key for one in changed))]

        sides.check(change, writes=True)

    def test_delete(self, sides: Sides) -> None:
        def change() -> Any:
            def inside() -> Any:
                found = _key().get()
                found.key.delete()
                return found

            return [ndb.transaction(inside), _again(_key())]

        sides.check(change, writes=True)

    def test_asynchronously(self, sides: Sides) -> None:
        def change() -> Any:
            @ndb.tasklet
            def inside() -> Any:
                found = yield _key().get_async()
                found.number += 1
                yield found.put_async()
                raise ndb.Return(found)

            return [ndb.transaction_async(inside).result(), *_again(_key())]

        sides.check(change, writes=True, legacy_data=False)

    def test_decorated(self, sides: Sides) -> None:
        @ndb.transactional()
        def inside(number: int) -> Any:
            assert ndb.in_transaction()
            return _changed(_key(number).get())

        def change() -> Any:
            return [inside(2), *_again(_key(2))]

        sides.check(change, writes=True, legacy_data=False)

    def test_read_only(self, sides: Sides) -> None:
        sides.check(lambda: ndb.transaction(lambda: _key().get(), read_only=True))

    def test_outside_of_it(self, sides: Sides) -> None:
        """A model read before the transaction is another object than the one read in it."""

        def change() -> Any:
            before = _key().get()
            inside = ndb.transaction(lambda: _changed(_key().get()))
            return before, inside, before is inside, _key().get() is inside

        sides.check(change, writes=True)


class TestRolledBack:
    @pytest.mark.parametrize("error", [Failed, ndb.Rollback])
    def test_by_an_exception(self, sides: Sides, error: type[Exception]) -> None:
        def change() -> Any:
            def inside() -> Any:
                _changed(_key().get())
                raise error

            with pytest.raises(error):
                ndb.transaction(inside)
            return _again(_key())

        sides.check(change, writes=True)

    def test_the_cache_of_the_context_is_left_alone(self, sides: Sides) -> None:
        def change() -> Any:
            before = _key().get()

            def inside() -> Any:
                _changed(_key().get())
                raise Failed

            with pytest.raises(Failed):
                ndb.transaction(inside)
            return before, _key().get() is before

        sides.check(change, writes=True)

    @pytest.mark.parametrize("names", [("ndb",)], ids=["ndb"])
    def test_retried(self, loopback_sides: Sides) -> None:
        """An exception that is transient has the whole of it done again, on new reads."""

        def change() -> Any:
            seen = []

            def inside() -> Any:
                found = _key().get()
                seen.append(found.number)
                _changed(found)
                if len(seen) == 1:
                    raise exceptions.ServiceUnavailable("for a test")
                return found

            return [ndb.transaction(inside), seen, *_again(_key())]

        loopback_sides.check(change, writes=True, legacy_data=False)


def test_reads_are_lazy(loopback_sides: Sides) -> None:
    def inside() -> Any:
        found = [_key().get(), *Hooked.query(ancestor=ndb.Key("Parent", 1)).fetch()]
        assert storages(found) == {"LazyValues"}
        return found

    with loopback_sides.lazy_context():
        ndb.transaction(inside)
