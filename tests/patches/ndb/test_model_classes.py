"""Models and properties with methods, names and kinds of an application's own; Expandos."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.ndb import model, polymodel
from hypothesis import example, given, settings, strategies as st
from hypothesis.stateful import rule
from hypothesis.strategies import DrawFn

from tests.patches.models.machine import PICKS, run
from tests.patches.models.pairs import is_lazy, reading
from tests.patches.models.shapes import Shape, Stored
from tests.patches.ndb.pairs import (
    Pair,
    Twins,
    eager_model,
    lazy_model,
    patched,
    stock_model,
    without_class,
    written,
)
from tests.patches.ndb.raw_entities import embedded, entity_of
from tests.support.snapshots import Raised, outcome
from tests.support.stock import stock_entity

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


class Twig(Root):
    more = ndb.IntegerProperty("m")


class Meta(model.MetaModel):
    """Marks its instances."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        made = super().__call__(*arguments, **options)
        made.mark = "made"
        return made


class Marked(ndb.Model, metaclass=Meta):
    number = ndb.IntegerProperty()


class Expanding(ndb.Expando):
    limit = 0
    known = ndb.IntegerProperty("k")
    number = ndb.IntegerProperty()


class Unindexed(ndb.Expando):
    _default_indexed = False
    _write_empty_list_for_dynamic_properties = True


class WithProperty(ndb.Expando):
    @property
    def half(self) -> Any:
        return self.whole / 2

    @half.setter
    def half(self, value: Any) -> None:
        self.whole = value


class Assigning(ndb.Expando):
    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)


class PerEntity(ndb.Expando):
    @property
    def _default_indexed(self) -> bool:
        return len(self._properties) % 2 == 0


class Cloning(ndb.Expando):
    def _clone_properties(self) -> None:
        super()._clone_properties()
        self._properties["made_by_cloning"] = ndb.GenericProperty("made_by_cloning")


class Constructing(ndb.Expando):
    known = ndb.IntegerProperty("k", default=3)
    later = ndb.StringProperty()

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.later = "later"
        self.made_by_constructor = 1


LAZY_EXPANDOS = (Expanding, Unindexed, WithProperty)
MAKING_PROPERTIES = (Assigning, PerEntity, Cloning, Constructing)
"""Classes that take part in making dynamic properties."""

CLASSES: tuple[Any, ...] = (
    *(Custom, Keeping, WithKey, Picky, Renamed, WithClass, Root, Twig, Marked),
    *(*LAZY_EXPANDOS, *MAKING_PROPERTIES),
)

_NAMES = ("dynamic", "dynamics", "value", "more", "key", "class", "whole", "half", "query", "limit")
_ODD_NAMES = ("_private", "dotted.name", "", "later", "made_by_cloning")
_VALUES = st.one_of(
    st.integers(0, 3),
    st.sampled_from([None, "text", [1, None, "two"], [1, 2], [], 2.5, b"bytes"]),
    st.just(embedded(a=1, b=[embedded(c=None)])),
)
_CLASS_KEYS = st.sampled_from([["Root"], ["Root", "Twig"], "Twig", ["Root", "gone"], None])
_OTHER_KINDS = ("Nobody", "Model", "Expando", "Renamed", "Twig")


@st.composite
def _entities(draw: DrawFn) -> Stored:
    """Entities of those classes, some of a kind that is another class's, or nobody's."""
    kind = draw(st.sampled_from([*CLASSES, *LAZY_EXPANDOS]))
    own = st.sampled_from([*[*kind._properties] * 4, *_NAMES])
    names = st.one_of(own, own, st.sampled_from(_ODD_NAMES))
    properties: dict[str, Any] = draw(st.dictionaries(names, _VALUES, max_size=4))
    if issubclass(kind, Root):
        properties["class"] = draw(_CLASS_KEYS)
    stored_kind = draw(st.sampled_from([*[kind._get_kind()] * 12, *_OTHER_KINDS]))
    return Stored(Shape(kind), entity_of(stored_kind, properties))


class ApplicationTwins(Twins):
    entities = _entities()

    @rule(pick=PICKS)
    def take_property(self, pick: int) -> None:
        """Take one from a model that has others than its class."""
        name = self.stored_name(pick)
        if self.pair.stock._properties is not type(self.pair.stock)._properties:
            self.pair.both(lambda entity: sorted(map(repr, entity._properties.values())))
            self.pair.both(lambda entity: repr(entity._properties.pop(name, None)))


def test_operations_in_any_order() -> None:
    """Overrides are called as by stock ndb."""
    run(ApplicationTwins, max_examples=2)


@settings(max_examples=settings().max_examples * 3)
@given(stored=_entities(), is_read=st.booleans())
@example(stored=Stored(Shape(Custom), entity_of("Custom", {"c": 4})), is_read=True)
def test_whole_entities(stored: Stored, is_read: bool) -> None:
    """Read or not, and written; an error is ndb's, or reads of a lazy model raise it."""
    stock, lazy = outcome(stock_model, stored.raw), without_class(outcome(lazy_model, stored.raw))
    if not isinstance(stock, Raised):
        reads = map(reading, stored.shape.names if is_read else ())
        Pair(stock, lazy).agree(*reads, written)
    elif isinstance(lazy, Raised):
        assert lazy == stock
    else:
        with patched():
            assert isinstance(outcome(lazy._values.items), Raised)


PROPERTIES: dict[str, Any] = {
    "k": 1,
    "text": "text",
    "nothing": None,
    "list": [1, None, "two"],
    "empty": [],
    "whole": 3,
    "deep": embedded(a=1, b=[embedded(c=None)]),
}


def _made_names(entity: Any) -> set[str]:
    """Return the names of the properties that a model has made, the class's own among them."""
    return {name for name, prop in dict.items(entity._properties) if hasattr(prop, "_code_name")}


@pytest.mark.parametrize("kind", LAZY_EXPANDOS)
def test_one_property_is_made_when_it_is_read(kind: Any) -> None:
    """And so is its value."""
    lazy = lazy_model(entity_of(kind.__name__, PROPERTIES))
    assert is_lazy(lazy)
    defined = set(kind._properties)
    assert _made_names(lazy) == defined
    with patched():
        assert lazy.text == "text"
        assert _made_names(lazy) == defined | {"text"}
        assert {"whole"} <= set(lazy._values._undecoded()) <= set(PROPERTIES) - {"text"}
        assert lazy._properties["list"]._repeated
        assert lazy._properties["text"] is lazy._properties.get("text")


@pytest.mark.parametrize("kind", MAKING_PROPERTIES)
def test_what_takes_part_in_making_properties_is_left_to_ndb(kind: Any) -> None:
    assert not is_lazy(lazy_model(entity_of(kind.__name__, PROPERTIES)))


def _dynamic(entity: Any) -> Any:
    return (
        list(entity._values),
        list(vars(entity)),
        [(name, type(prop), list(vars(prop).items())) for name, prop in entity._properties.items()],
    )


def test_eager_models_have_properties_as_ndb_makes_them() -> None:
    """In stock's order, and no two models share one."""
    raw = entity_of("Expanding", PROPERTIES)
    stock = model._entity_from_ds_entity(stock_entity(raw))
    one, another = eager_model(raw), eager_model(raw)
    assert type(one._properties) is type(one._values) is dict
    assert _dynamic(one) == _dynamic(stock)
    shared = {name for name, prop in one._properties.items() if prop is another._properties[name]}
    assert shared == set(Expanding._properties)


def test_a_property_that_the_class_gets_later() -> None:
    """A dynamic property becomes a defined one."""
    kind: Any = type("Growing", (ndb.Expando,), {"known": ndb.IntegerProperty("k")})
    raw = entity_of("Growing", PROPERTIES)
    assert lazy_model(raw).text == "text"
    kind.text = ndb.StringProperty(default="none")
    kind._fix_up_properties()
    pair = Pair.from_raw(raw)
    pair.agree(reading("text"))
    assert isinstance(pair.lazy._properties["text"], ndb.StringProperty)
