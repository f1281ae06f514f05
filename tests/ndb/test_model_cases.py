"""Models of entities chosen by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.ndb import model, polymodel
from google.cloud.ndb.context import get_context

import lazyentity
from tests.entity.snapshots import Raised, outcome
from tests.ndb import handmade
from tests.ndb.handmade import Everything, Person, everything
from tests.ndb.pairs import (
    LEGACY,
    Pair,
    assigning,
    context,
    is_lazy,
    lazy_model,
    patched,
    reading,
    received,
    stock_model,
    stored,
    written,
)
from tests.ndb.raw_entities import FAULTS, entity_of, value_message


@pytest.fixture(autouse=True, params=LEGACY)
def _context(request: pytest.FixtureRequest) -> Iterator[None]:
    with context(legacy_data=request.param):
        yield


@pytest.fixture
def raw() -> bytes:
    """An entity with everything."""
    return stored(everything())


NAMES = sorted(prop._code_name for prop in Everything._properties.values())


@pytest.mark.parametrize("name", NAMES)
def test_one_property(raw: bytes, name: str) -> None:
    """It is the same, twice, and so is all the rest after it."""
    pair = Pair.of(raw)
    pair.both(lambda entity: getattr(entity, name))
    pair.both(lambda entity: getattr(entity, name))
    pair.both(written)
    pair.agree()


@pytest.mark.parametrize(
    "read",
    [repr, lambda entity: entity.to_dict(), written, lambda entity: entity == entity],
    ids=["repr", "to_dict", "write", "equality"],
)
def test_everything(raw: bytes, read: Callable[[Any], Any]) -> None:
    """So it is for what reads all of them."""
    pair = Pair.of(raw)
    pair.both(read)
    pair.agree()
    pair.both(read)


def test_reading_one_property_makes_no_other() -> None:
    with context_of(legacy_data=False):
        raw = stored(Person(name="n", home=handmade.Address(street="s"), photo=b"p"))
    lazy = lazy_model(raw)
    with patched():
        assert lazy.name == "n"
    assert sorted(lazy._values._undecoded()) == ["h", "photo"]


def context_of(*, legacy_data: bool) -> Any:
    """Write in one way, whatever the test is run with."""
    return ndb.context.get_context().new(legacy_data=legacy_data).use()


def test_two_models_of_the_same_answer(raw: bytes) -> None:
    """What is done to one, its sub-models and lists included, is not done to the other."""
    answer = received(raw)
    with patched():
        first = model._entity_from_protobuf(answer)
        second = model._entity_from_protobuf(answer)
    Pair(stock_model(raw), first).agree()
    with patched():
        first.integers.append(5)
        first.address.street = "changed"
        first.keyed.name = "changed"
        first.person.home.street = "changed"
        first.addresses.pop()
        first.json["a"].append(5)
    Pair(stock_model(raw), second).agree()


def test_a_model_outlives_the_patch(raw: bytes) -> None:
    """What is read after ``unpatch`` is the same."""
    stock, lazy = stock_model(raw), lazy_model(raw)
    for name in NAMES:
        assert getattr(lazy, name) == getattr(stock, name) or name == "place"
    Pair(stock, lazy).agree()


def test_pickles_are_loaded_where_lazyentity_is_not(raw: bytes) -> None:
    """A process that cannot import lazyentity reads the pickle of a model."""
    program = (
        "import pickle, sys; sys.modules['lazyentity'] = None; "
        "from google.cloud import ndb; import tests.ndb.handmade; "
        "from google.auth.credentials import AnonymousCredentials as A; "
        "c = ndb.Client(project='p', credentials=A()).context(); c.__enter__(); "
        "m = pickle.load(sys.stdin.buffer); assert type(m._values) is dict; "
        "print(m.integer, m.address.street, m.person.home.street, sorted(m._values))"
    )
    import pickle

    stock, lazy = stock_model(raw), lazy_model(raw)
    with patched():
        dumped = pickle.dumps(lazy)
    ran = subprocess.run(
        [sys.executable, "-c", program],
        input=dumped,
        capture_output=True,
        check=False,
        env={"DATASTORE_EMULATOR_HOST": "127.0.0.1:1", "PYTHONPATH": "."},
    )
    assert ran.returncode == 0, ran.stderr.decode()
    expected = (
        f"{stock.integer} {stock.address.street} {stock.person.home.street} {sorted(stock._values)}"
    )
    assert ran.stdout.decode().strip() == expected


# Errors.


def outcomes(raw: bytes, read: Callable[[Any], Any]) -> tuple[Any, Any]:
    """Return what reading gives of the model made by either side."""
    expected = outcome(lambda: read(stock_model(raw)))
    made = outcome(lazy_model, raw)
    if isinstance(made, Raised):
        return expected, made
    with patched():
        return expected, outcome(read, made)


def test_key_of_another_kind_comes_before_a_class_that_is_not_known() -> None:
    """Stock looks at the key of a sub-entity before it looks for who knows its properties."""
    inner = Entity(Key("Nobody", "n", project="p"))
    inner["unknown"] = None
    expected, actual = outcomes(
        entity_of("Everything", {"address": inner}), lambda entity: entity.address
    )
    assert actual == expected


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
@pytest.mark.parametrize("name", ["blob", "small_blob", "person", "json", "address", "is", "i"])
def test_a_faulty_property_leaves_the_others_alone(name: str, fault: Any) -> None:
    """Any other property can be read, with a meaning or without, whatever it is that fails."""
    others = {
        "blob": b"b",
        "sb": value_message(b"b", 22),
        "json": value_message(b"[1]", 9),
        "as": [],
        "strings": ["a"],
        "number": 1.5,
    }
    others.pop(name, None)
    lazy = lazy_model(entity_of("Everything", {**others, name: fault}))
    stock = stock_model(entity_of("Everything", others))
    for other in others:
        prop = Everything._properties[other]._code_name
        with patched():
            assert outcome(getattr, lazy, prop) == getattr(stock, prop)


class Loud(ndb.IntegerProperty):
    """A property of an application, with its own conversions."""

    def _from_base_type(self, value: Any) -> Any:
        return f"<{value}>"

    def _to_base_type(self, value: str) -> int:
        return int(value[1:-1])

    def _validate(self, value: Any) -> Any:
        return value


class Stacked(Loud):
    """One whose conversion keeps the value by returning None."""

    def _from_base_type(self, value: Any) -> Any:
        return None if value == "<1>" else value + "!"


class Counting(ndb.IntegerProperty):
    """One that is told of what is read, in another place each time."""

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
    stacked = Stacked("st")
    counting = Counting("c")

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self.made_by_hand = True
        if "loud" not in values:
            setattr(self, "loud", "<3>")  # noqa: B010  # mypy takes it for what it is on the class


class Keeping(ndb.Model):
    storing = Storing()
    other = ndb.IntegerProperty()


@pytest.mark.parametrize("kind", ["Custom", "Keeping"])
@pytest.mark.parametrize("value", [1, 2, None, "text", [1, 2], 2.5])
@pytest.mark.parametrize("name", ["loud", "ls", "st", "c", "storing", "other"])
def test_properties_of_an_application(kind: str, name: str, value: Any) -> None:
    """What it overrides is called."""
    raw = entity_of(kind, {name: value})
    stock = outcome(stock_model, raw)
    if isinstance(stock, Raised):
        assert outcome(lazy_model, raw) == stock or is_lazy(lazy_model(raw))
        return
    for read in ("loud", "louds", "stacked", "counting", "storing", "other"):
        pair = Pair.of(raw)
        pair.both(reading(read))
        pair.both(reading(read))
        pair.agree()
    pair.both(written)


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


class Leaf(Root):
    more = ndb.IntegerProperty("m")

    @classmethod
    def _class_name(cls) -> str:
        return "leaf"


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
    """Names, kinds and constructors of its own are taken as stock ndb takes them."""
    raw = entity_of(kind, properties)
    stock = outcome(stock_model, raw)
    if isinstance(stock, Raised):
        assert outcome(lazy_model, raw) == stock
        return
    for name in sorted(prop._code_name for prop in stock._properties.values()):
        pair = Pair.of(raw)
        pair.both(reading(name))
        pair.both(lambda entity: (entity.key, entity._key, sorted(vars(entity))))
        pair.both(repr)
        pair.both(written)
        pair.agree()


def test_a_projection(raw: bytes) -> None:
    """A model that was made a projection by hand has only these."""
    pair = Pair.of(raw)
    pair.both(lambda entity: entity._set_projection(["i", "text"]))
    for name in NAMES:
        pair.both(reading(name))
        pair.both(assigning(name, None))
    pair.both(repr)
    pair.both(lambda entity: entity.to_dict())


def test_public_patching(raw: bytes) -> None:
    """``lazyentity.patch("ndb")`` is what is tested here."""
    lazyentity.patch("ndb", strict=True)
    try:
        lazy = model._entity_from_protobuf(received(raw))
        assert isinstance(lazy, Everything)
        assert lazy.integer == 1
    finally:
        lazyentity.unpatch("ndb")
    stock = stock_model(raw)
    assert stock.integer == 1
    Pair(stock, lazy).agree()


# Writing more than once.


class Home(ndb.Model):
    street = ndb.StringProperty()
    city = ndb.StringProperty()


class Owner(ndb.Model):
    number = ndb.IntegerProperty()
    home = ndb.StructuredProperty(Home)
    homes = ndb.StructuredProperty(Home, repeated=True)


def test_what_was_changed_and_written_stays_changed() -> None:
    """A second conversion has what the first one had, whatever was read in between."""
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
    """Whether a property is indexed is asked as a truth, and written so."""

    class Flagged(ndb.Model):
        x = ndb.IntegerProperty(indexed=indexed)

    entity = Entity(Key("Flagged", 1, project="p"), exclude_from_indexes=("x",) * (not stored))
    entity["x"] = 1
    pair = Pair.of(helpers.entity_to_protobuf(entity)._pb.SerializeToString())
    pair.both(lambda flagged: written(flagged))


def test_a_class_that_is_an_entity() -> None:
    """What is stored as the name of the class may be anything."""

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
    """Changing the stored entity does not change a model that was made of it before."""
    home = Entity()
    home.update({"street": "old", "city": "c"})
    pair = Pair.of(entity_of("Owner", {"home": home}))

    def change(owner: Any) -> str:
        base = owner._values["home"].b_val
        made = owner.home
        base["street"] = "changed"
        return str(made.street)

    pair.both(change)


def test_a_context_that_is_entered_otherwise() -> None:
    """Than once, and then left: that is an error, and changes nothing."""
    before = get_context()
    with patched():
        use = before.new().use()
        with pytest.raises(RuntimeError):
            use.__exit__(None, None, None)
        assert get_context() is before
        with use, pytest.raises(AttributeError):
            use.__enter__()
        assert get_context() is before
        with pytest.raises(AttributeError):
            use.__enter__()
        assert get_context() is before


def test_a_context_in_a_decorator() -> None:
    """Calls within calls each put back what they found."""
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
    """Somebody has put a method of its own into it."""

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
