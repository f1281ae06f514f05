"""Models of entities chosen by hand."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import ndb
from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.cloud.ndb import model

import lazyentity
from tests.patches.models.pairs import assigning, is_lazy, reading
from tests.patches.ndb import handmade
from tests.patches.ndb.handmade import Everything, Person, everything
from tests.patches.ndb.pairs import (
    Pair,
    lazy_model,
    patched,
    received,
    stock_model,
    stored,
    written,
)
from tests.patches.ndb.raw_entities import FAULTS, entity_of, value_message
from tests.support.snapshots import Raised, outcome

pytestmark = pytest.mark.usefixtures("either_context")


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
    """Operations that read all properties make them all."""
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
    """Write in one way, independent of the test's parameters."""
    return ndb.context.get_context().new(legacy_data=legacy_data).use()


def test_two_models_of_the_same_answer(raw: bytes) -> None:
    """A change of one, of its sub-models and lists included, does not change the other."""
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
    """Reads after ``unpatch()`` give the same."""
    lazyentity.patch("ndb", strict=True)
    lazy = model._entity_from_protobuf(received(raw))
    lazyentity.unpatch("ndb")
    stock = stock_model(raw)
    assert isinstance(lazy, Everything)
    assert is_lazy(lazy)
    for name in NAMES:
        assert getattr(lazy, name) == getattr(stock, name) or name == "place"
    Pair(stock, lazy).agree()


def test_pickles_are_loaded_where_lazyentity_is_not(raw: bytes) -> None:
    """A process that cannot import lazyentity reads the pickle of a model."""
    program = (
        "import pickle, sys; sys.modules['lazyentity'] = None; "
        "from google.cloud import ndb; import tests.patches.ndb.handmade; "
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
    """Return the outcome of reading the model of each side."""
    expected = outcome(lambda: read(stock_model(raw)))
    made = outcome(lazy_model, raw)
    if isinstance(made, Raised):
        return expected, made
    with patched():
        return expected, outcome(read, made)


def test_key_of_another_kind_comes_before_a_class_that_is_not_known() -> None:
    """Stock reads the key of a sub-entity before it looks for the owner of its properties."""
    inner = Entity(Key("Nobody", "n", project="p"))
    inner["unknown"] = None
    expected, actual = outcomes(
        entity_of("Everything", {"address": inner}), lambda entity: entity.address
    )
    assert actual == expected


@pytest.mark.parametrize("fault", FAULTS, ids=range(len(FAULTS)))
@pytest.mark.parametrize("name", ["blob", "small_blob", "person", "json", "address", "is", "i"])
def test_a_faulty_property_leaves_the_others_alone(name: str, fault: Any) -> None:
    """Any other property can be read, with a meaning or without, after any fault."""
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


def test_a_projection(raw: bytes) -> None:
    """A model that was made a projection by hand has only these."""
    pair = Pair.of(raw)
    pair.both(lambda entity: entity._set_projection(["i", "text"]))
    for name in NAMES:
        pair.both(reading(name))
        pair.both(assigning(name, None))
    pair.both(repr)
    pair.both(lambda entity: entity.to_dict())
