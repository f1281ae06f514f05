"""Models that are changed, written, and written again."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.ndb.context import get_context

from tests.patches.ndb.pairs import Pair, patched, written
from tests.patches.ndb.raw_entities import entity_of


class Home(ndb.Model):
    street = ndb.StringProperty()
    city = ndb.StringProperty()


pytestmark = pytest.mark.usefixtures("either_context")


class Owner(ndb.Model):
    number = ndb.IntegerProperty()
    home = ndb.StructuredProperty(Home)
    homes = ndb.StructuredProperty(Home, repeated=True)


def test_what_was_changed_and_written_stays_changed() -> None:
    """A second conversion gives the contents of the first one, after any reads in between."""
    home = Entity()
    home.update({"street": "old", "city": "c"})
    pair = Pair.of(entity_of("Owner", {"number": 1, "home": home, "homes": [home]}))

    def change(owner: Any) -> None:
        owner.home.street = owner.homes[0].street = "new"

    pair.both(change)
    for _ in range(3):
        pair.both(lambda owner: written(owner))
        pair.both(lambda owner: owner._prepare_for_put())
        pair.both(lambda owner: (owner.home.street, owner.homes[0].street, owner.home.city))
    pair.agree()


def test_dotted_and_embedded_together() -> None:
    """Old and new ways of storing one structured property in one entity are merged as in stock."""
    home = Entity()
    home.update({"street": "old", "city": "c"})
    pair = Pair.of(entity_of("Owner", {"home": home, "home.street": "dotted"}))
    pair.both(lambda owner: written(owner))
    pair.agree()


@pytest.mark.parametrize("indexed", [0, 1])
@pytest.mark.parametrize("stored", [False, True])
def test_flags_that_are_no_booleans(indexed: int, *, stored: bool) -> None:
    """Any true value of ``indexed`` is written as true."""

    class Flagged(ndb.Model):
        x = ndb.IntegerProperty(indexed=indexed)

    entity = Entity(Key("Flagged", 1, project="p"), exclude_from_indexes=("x",) * (not stored))
    entity["x"] = 1
    pair = Pair.of(helpers.entity_to_protobuf(entity)._pb.SerializeToString())
    pair.both(lambda flagged: written(flagged))


def test_a_class_that_is_an_entity() -> None:
    """The stored name of a class may be any value."""

    class Zoo(ndb.Model):
        class_ = ndb.StructuredProperty(Home, "class")

    class Town(ndb.Model):
        zoo = ndb.StructuredProperty(Zoo)

    inner, home = Entity(), Entity()
    home["street"] = "s"
    inner["class"] = home
    pair = Pair.of(entity_of("Town", {"zoo": inner}))
    pair.both(lambda town: town.zoo.class_.street)
    pair.agree()


def test_a_sub_model_is_not_what_it_was_made_of() -> None:
    """Changing the stored entity does not change a model made from it before."""
    home = Entity()
    home.update({"street": "old", "city": "c"})
    pair = Pair.of(entity_of("Owner", {"home": home}))

    def change(owner: Any) -> str:
        base = owner._values["home"].b_val
        made = owner.home
        base["street"] = "changed"
        return str(made.street)

    pair.both(change)


def test_a_context_in_a_decorator() -> None:
    """Nested calls each restore the context that they found."""
    before = get_context()
    other = before.new()
    with patched():

        @other.use()
        def nested(depth: int) -> bool:
            if depth:
                nested(depth - 1)
            return get_context() is other

        assert nested(2)
        assert get_context() is before


class Touching(ndb.IntegerProperty):
    """Writes another property when it is written."""

    def _to_datastore(self, entity: Any, data: dict[str, Any], *rest: Any, **options: Any) -> Any:
        entity.later = sorted(data)
        return super()._to_datastore(entity, data, *rest, **options)


class Touched(ndb.Model):
    first = ndb.IntegerProperty()
    last = Touching()
    later = ndb.JsonProperty()


class Noticing(ndb.Model):
    a = ndb.ComputedProperty(lambda entity: entity.assign())
    text = ndb.StringProperty()

    def assign(self) -> str:
        self.text = "assigned"
        return "computed"


def test_a_writer_of_one_property_object() -> None:
    """An application has set a method on the property itself."""

    class Rewritten(ndb.Model):
        number = ndb.IntegerProperty()
        text = ndb.StringProperty()

    def write(_entity: Any, data: dict[str, Any], *_: Any, **__: Any) -> None:
        data.update(number=5, text="changed")

    Rewritten.number._to_datastore = write
    pair = Pair.of(entity_of("Rewritten", {"number": 1, "text": "text"}))
    pair.both(written)


def test_a_property_of_what_is_no_model() -> None:
    """It has no values where ndb keeps them."""

    class Attribute(ndb.Property):
        def _get_value(self, view: Any) -> Any:
            return view.title_given

    class View:
        title = Attribute("title")
        title_given = "hello"

    with patched():
        assert View().title == "hello"


@pytest.mark.parametrize("kind", ["Touched", "Noticing"])
def test_what_writing_one_property_does_to_another(kind: str) -> None:
    """Is written, too."""
    pair = Pair.of(entity_of(kind, {"first": 1, "last": 2, "later": b"{}", "a": "", "text": "old"}))
    pair.both(written)
    pair.agree()
