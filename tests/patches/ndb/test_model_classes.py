"""Models and properties with methods, names and kinds of an application's own, which may change."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import model, polymodel

from tests.patches.models.pairs import is_lazy, reading
from tests.patches.ndb.pairs import Pair, lazy_model, stock_model, written
from tests.patches.ndb.raw_entities import entity_of
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("either_context")


class Loud(ndb.IntegerProperty):
    """A property of an application, with its own conversions."""

    def _from_base_type(self, value: Any) -> Any:
        return f"<{value}>"

    def _to_base_type(self, value: str) -> int:
        return int(value[1:-1])

    def _validate(self, value: Any) -> Any:
        return value


class Counting(ndb.IntegerProperty):
    """A property that overrides several parts of reading."""

    def _get_value(self, entity: Any) -> Any:
        return ("got", super()._get_value(entity))

    def _from_datastore(self, ds_entity: Any, value: Any) -> Any:
        return super()._from_datastore(ds_entity, value)


class Storing(ndb.IntegerProperty):
    """One that stores in its own way."""

    def _store_value(self, entity: Any, value: Any) -> None:
        entity._values[self._name] = value
        entity._stored = [*getattr(entity, "_stored", []), self._name]


class Custom(ndb.Model):
    loud = Loud()
    louds = Loud("ls", repeated=True)
    counting = Counting("c")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.made_by_hand = True
        if "loud" not in values:
            setattr(self, "loud", "<3>")  # noqa: B010  # mypy takes it for the property


class Keeping(ndb.Model):
    storing = Storing()
    other = ndb.IntegerProperty()


@pytest.mark.parametrize("kind", ["Custom", "Keeping"])
@pytest.mark.parametrize("value", [1, 2, None, "text", [1, 2], 2.5])
@pytest.mark.parametrize("name", ["loud", "ls", "c", "storing", "other"])
def test_properties_of_an_application(kind: str, name: str, value: Any) -> None:
    """Its overrides are called."""
    raw = entity_of(kind, {name: value})
    stock = outcome(stock_model, raw)
    if isinstance(stock, Raised):
        assert outcome(lazy_model, raw) == stock or is_lazy(lazy_model(raw))
        return
    for read in ("loud", "louds", "counting", "storing", "other"):
        Pair.from_raw(raw).agree(reading(read), reading(read), written)


class WithKey(ndb.Model):
    """One that has a property of the name that the key has elsewhere."""

    key = ndb.StringProperty("k")


class Picky(ndb.Model):
    """One that refuses keys."""

    value = ndb.IntegerProperty()

    @staticmethod
    def _validate_key(key: Any) -> Any:
        if key.id() == 5:
            raise ValueError("not 5")
        return key


class Renamed(ndb.Model):
    """One whose entities are of a kind of another name."""

    value = ndb.IntegerProperty("class_")

    @classmethod
    def _get_kind(cls) -> str:
        return "RenamedKind"


class WithClass(ndb.Model):
    """One that has a property of the name that hierarchies store their classes under."""

    class_ = ndb.StringProperty("class")


class Root(polymodel.PolyModel):
    value = ndb.IntegerProperty("v")


class Defaulting(ndb.Expando):
    known = ndb.IntegerProperty("k", default=3)
    later = ndb.StringProperty()

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.later = "later"


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("WithKey", {"k": "value"}),
        ("WithKey", {"key": "ignored"}),
        ("Picky", {"value": 1}),
        ("RenamedKind", {"class_": 1, "value": 2}),
        ("Renamed", {"class_": 1}),
        ("WithClass", {"class": "WithClass"}),
        ("WithClass", {"class": "Nobody"}),
        ("WithClass", {"class": None}),
        ("Root", {"class": ["Root"], "v": 1, "m": 2}),
        ("Root", {"class": ["Root", "leaf"], "v": 1, "m": 2, "more": 3}),
        ("Root", {"class": "leaf", "v": 1}),
        ("Root", {"v": 1, "m": 1}),
        ("leaf", {"class": ["Root", "leaf"], "v": 1}),
        ("Root", {"class": ["Root", "gone"], "v": 1}),
        ("Defaulting", {"k": 1}),
        ("Defaulting", {"k": 1, "later": "sooner"}),
        ("Defaulting", {"k": 1, "new": [1], "newer": None}),
        ("Nobody", {"k": 1}),
        ("Model", {"k": 1}),
        ("Expando", {"k": 1}),
        ("Everything", {}),
    ],
)
def test_classes_of_an_application(kind: str, properties: dict[str, Any]) -> None:
    """Custom names, kinds and constructors work as in stock ndb."""
    raw = entity_of(kind, properties)
    stock = outcome(stock_model, raw)
    if isinstance(stock, Raised):
        assert outcome(lazy_model, raw) == stock
        return
    for name in sorted(prop._code_name for prop in stock._properties.values()):
        Pair.from_raw(raw).agree(
            reading(name),
            lambda entity: (entity.key, entity._key, sorted(vars(entity))),
            repr,
            written,
        )


class Meta(model.MetaModel):
    """Marks its instances."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        made = super().__call__(*arguments, **options)
        made.mark = "made"
        return made


class Marked(ndb.Model, metaclass=Meta):
    number = ndb.IntegerProperty()


def test_a_metaclass_that_makes_the_models() -> None:
    """It is asked for each."""
    pair = Pair.from_raw(entity_of("Marked", {"number": 1}))
    assert pair.both(reading("mark")) == (str, "made")
    pair.agree(reading("number"), written)
