"""Models decode only the properties that are read; inside eager() they are stock's."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb

import lazyentity
from lazyentity.codec.undecoded import UNDECODED
from tests.patches.ndb.describing import storages
from tests.patches.ndb.sides import Sides
from tests.patches.ndb.stored import (
    COUNT,
    Constructed,
    Dotted,
    Hooked,
    Item,
    Loose,
    Residence,
    Shape,
    item_keys,
)


class TestEager:
    """Reads inside eager() are stock ndb's."""

    @pytest.mark.parametrize("kind", [Item, Dotted, Loose, Shape, Hooked, Constructed])
    def test_get(self, loopback_sides: Sides, kind: Any) -> None:
        with loopback_sides.lazy_context():
            with lazyentity.eager():
                found = ndb.Key(kind, 1).get()
            assert storages(found) == {"dict"}

    @pytest.mark.parametrize(
        "ask", [lambda: Item.query().fetch(), lambda: [ndb.Key(Item, 1).get()]]
    )
    def test_nested_models(self, loopback_sides: Sides, ask: Any) -> None:
        with loopback_sides.lazy_context():
            with lazyentity.eager():
                found = ask()
            assert len(found) in (1, COUNT)
            for one in found:
                assert storages([one, one.address, *one.addresses, one.site]) == {"dict"}

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
    """A model decodes no property that is not read."""

    @pytest.mark.parametrize(
        "read",
        [
            lambda: ndb.Key(Item, 1).get(),
            lambda: ndb.get_multi(item_keys(1, 2))[0],
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

    @pytest.mark.parametrize("kind", [Shape, Hooked, Constructed, Dotted])
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
