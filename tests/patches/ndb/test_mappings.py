"""The mapping of a model's class follows changes of the class."""

from __future__ import annotations

from typing import Any

import pytest
import wrapt
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.ndb import model, polymodel

import lazyentity
from lazyentity.patches.ndb import mappings
from tests.patches.models.pairs import reading
from tests.patches.ndb import handmade
from tests.patches.ndb.pairs import Pair, lazy_model, patched, stock_model, written
from tests.patches.ndb.raw_entities import entity_of
from tests.support.snapshots import Raised

pytestmark = pytest.mark.usefixtures("either_context")


def test_a_class_that_is_defined_again() -> None:
    """A subclass that has got other properties since is taken as it is now."""

    class Shelter(ndb.Model):
        pet = ndb.StructuredProperty(handmade.Animal)

    def define(stored_name: str) -> None:
        polymodel.PolyModel.__class__(
            "Parrot", (handmade.Animal,), {"words": ndb.IntegerProperty(stored_name)}
        )

    inner = Entity()
    inner.update({"class": ["Animal", "Parrot"], "l": 2, "words": 7, "w2": 8})
    raw = entity_of("Shelter", {"pet": inner})
    for stored_name in ("words", "w2", "words"):
        define(stored_name)
        pair = Pair.of(raw)
        pair.both(lambda entity: entity.pet)
        pair.both(lambda entity: sorted(entity.pet._values))


def test_a_property_that_is_added_to_the_class() -> None:
    """A property that is put on the class later counts as it does in stock."""

    class Growing(ndb.Model):
        first = ndb.IntegerProperty()

    raw = entity_of("Growing", {"first": 1, "second": 2})
    Pair.of(raw).agree()
    Growing.second = ndb.IntegerProperty("second")
    Pair.of(raw).agree()
    Growing._fix_up_properties()
    Pair.of(raw).agree()


def test_an_attribute_of_the_class_that_hides_a_property() -> None:
    """Stock ndb does not read a property that is hidden on the class, and neither do we."""

    class Shrinking(ndb.Model):
        first = ndb.IntegerProperty()

    raw = entity_of("Shrinking", {"first": 1})
    Pair.of(raw).agree()
    Shrinking.first = None
    Pair.of(raw).agree()


class Meta(model.MetaModel):
    """Marks its instances."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        made = super().__call__(*arguments, **options)
        made.mark = "made"
        return made


class Marked(ndb.Model, metaclass=Meta):
    number = ndb.IntegerProperty()


class MarkedExpando(ndb.Expando, metaclass=Meta):
    number = ndb.IntegerProperty()


@pytest.mark.parametrize("kind", ["Marked", "MarkedExpando"])
def test_a_metaclass_that_makes_the_models(kind: str) -> None:
    """It is asked for each."""
    pair = Pair.of(entity_of(kind, {"number": 1}))
    assert pair.both(reading("mark")) == (str, "made")
    pair.both(reading("number"))
    pair.both(written)
    pair.agree()


class Own(ndb.StringProperty):
    """Has a method set on the property itself."""

    def __init__(self, *arguments: Any, method: str = "", **options: Any) -> None:
        super().__init__(*arguments, **options)
        if method:
            # Another one of the same class has none.
            setattr(self, method, getattr(self, f"own{method}"))

    def own_store_value(self, entity: Any, value: Any) -> None:
        entity._values[self._name] = model._BaseValue(f"stored {value.b_val}")

    def own_get_value(self, entity: Any) -> Any:
        return f"got {ndb.StringProperty._get_value(self, entity)}"

    def own_retrieve_value(self, entity: Any, default: Any = None) -> Any:
        return f"retrieved {ndb.StringProperty._retrieve_value(self, entity, default)}"


class HavingItsOwn(ndb.Model):
    plain = Own()
    stored = Own(method="_store_value")
    got = Own(method="_get_value")
    retrieved = Own(method="_retrieve_value")


class Redirecting(ndb.StringProperty):
    """Has other methods than its class."""

    def __getattribute__(self, name: str) -> Any:
        if name == "_get_value":
            return lambda entity: f"redirected {ndb.StringProperty._get_value(self, entity)}"
        return super().__getattribute__(name)


class HavingRedirected(ndb.Model):
    redirected = Redirecting()
    plain = ndb.StringProperty()


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("HavingItsOwn", ["plain", "got", "retrieved"]),
        ("HavingItsOwn", ["plain", "stored", "got"]),
        ("HavingRedirected", ["redirected", "plain"]),
    ],
)
def test_methods_that_a_property_has_of_its_own(kind: str, names: list[str]) -> None:
    """They are called, and no others."""
    pair = Pair.of(entity_of(kind, dict.fromkeys(names, "text")))
    for name in names:
        pair.both(reading(name))
    pair.both(written)
    pair.agree()


class Passing(ndb.IntegerProperty):
    """Passes its arguments on by name."""

    def __get__(self, entity: Any, unused_cls: Any = None) -> Any:
        return super().__get__(entity=entity, unused_cls=unused_cls)


class HavingPassed(ndb.Model):
    number = Passing()


def test_a_descriptor_that_passes_on_by_name() -> None:
    """Also where there is no model, or a new one."""
    pair = Pair.of(entity_of("HavingPassed", {"number": 1}))
    assert pair.both(reading("number")) == (int, 1)
    with patched():
        assert HavingPassed(number=2).number == 2
        assert isinstance(HavingPassed.number, Passing)


class Planned(ndb.Model):
    number = ndb.IntegerProperty()


def test_a_class_is_mapped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many of its entities are read; the pure backend makes sure each time."""
    taken: list[Any] = []
    original = mappings._take

    def take(*arguments: Any) -> Any:
        taken.append(arguments)
        return original(*arguments)

    monkeypatch.setattr(mappings, "_take", take)
    raw = entity_of("Planned", {"number": 1})
    for _ in range(20):
        lazy_model(raw)
    assert len(taken) <= (2 if lazyentity.backend == "native" else 20)


@pytest.mark.parametrize("base", [ndb.Model, ndb.Expando])
@pytest.mark.parametrize("name", ["_validate_key", "_set_attributes", "__new__", "__init__"])
def test_hooks_that_a_class_gets_later(base: Any, name: str) -> None:
    """They are called from then on."""
    kind = type("Hooking", (base,), {"known": ndb.IntegerProperty("k")})
    raw = entity_of("Hooking", {"k": 1, "text": "text"})
    assert lazy_model(raw).known == 1
    called: list[str] = []

    def hook(*arguments: Any, **options: Any) -> Any:
        called.append(name)
        if name == "__new__":
            return object.__new__(arguments[0])
        if name == "_validate_key":
            return arguments[-1]
        return getattr(base, name)(*arguments, **options)

    setattr(kind, name, staticmethod(hook) if name in ("_validate_key", "__new__") else hook)
    calls = []
    for make in (stock_model, lazy_model):
        called.clear()
        make(raw)
        calls.append(list(called))
    assert calls[0]
    assert calls[1] == calls[0]


_WRAPPED = [
    *((ndb.Property, name) for name in ("_apply_list", "_apply_to_values", "_call_from_base_type")),
    *((ndb.Property, name) for name in ("_from_datastore", "_get_user_value", "_get_value")),
    *((ndb.Property, name) for name in ("_opt_call_from_base_type", "_retrieve_value")),
    *((ndb.Property, name) for name in ("_get_base_value", "_get_base_value_unwrapped_as_list")),
    *((ndb.Property, name) for name in ("_is_initialized", "_opt_call_to_base_type")),
    *((ndb.Property, name) for name in ("_store_value", "_to_datastore", "__get__")),
    *((kind, "_from_base_type") for kind in (ndb.TextProperty, ndb.BooleanProperty)),
    *((ndb.Model, name) for name in ("_set_attributes", "_get_arg", "_validate_key", "__init__")),
]


@pytest.mark.parametrize("read", [["number", "text", "flag"], ["number"], []], ids=str)
@pytest.mark.parametrize(("owner", "name"), _WRAPPED)
def test_what_somebody_wraps_later(owner: Any, name: str, read: list[str]) -> None:
    """A wrapper that passes for the wrapped method is still called."""
    called: set[Any] = set()

    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        called.add(getattr(instance, "_name", None) if owner is not ndb.Model else name)
        return wrapped(*args, **kwargs)

    def use(entity: Any) -> Any:
        values = [getattr(entity, attribute) for attribute in read]
        return values, written(entity)

    # The first read of an entity inspects the properties of the class.
    class Wrapped(ndb.Model):
        number = ndb.IntegerProperty()
        text = ndb.TextProperty()
        flag = ndb.BooleanProperty()

    raw = entity_of("Wrapped", {"number": 1, "text": "text", "flag": True})
    original = vars(owner)[name]
    wrapt.wrap_function_wrapper(owner, name, wrapper)
    try:
        expected = use(stock_model(raw))
        by_stock = frozenset(called)
        called.clear()
        entity = lazy_model(raw)
        with patched():
            actual = use(entity)
    finally:
        setattr(owner, name, original)
    assert actual == expected
    assert called == by_stock


def test_a_kind_that_is_forgotten() -> None:
    """As test suites of applications do between tests: that is an error each time."""
    animal = type("Beast", (polymodel.PolyModel,), {})
    type("Kitten", (animal,), {"weight": ndb.IntegerProperty()})
    type("Den", (ndb.Model,), {"pet": ndb.StructuredProperty(animal)})
    pet = Entity()
    pet.update({"class": ["Beast", "Kitten"], "weight": 1})
    raw = entity_of("Den", {"pet": pet})
    lazy = lazy_model(raw)
    with patched():
        assert lazy.pet is not None
    kinds = dict(model.Model._kind_map)
    try:
        del model.Model._kind_map["Kitten"]
        for _ in range(3):
            pair = Pair.of(raw)
            assert isinstance(pair.both(reading("pet")), Raised)
    finally:
        model.Model._kind_map.update(kinds)
