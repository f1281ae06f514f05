"""Nothing takes the place of the error of a property: no key, no name and no other error."""

from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore import helpers
from google.cloud.datastore.entity import Entity
from google.protobuf.message import DecodeError

import lazyentity
from lazyentity import LazyEntity
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.strict import make_strict
from tests.codec.test_errors import CUT_OFF, GOOD, GOOD_KEY, UNSET, property_field
from tests.support import hostile
from tests.support.strategies import wire

FAULTS = {"malformed": (CUT_OFF, DecodeError), "unset": (UNSET, ValueError)}
with_faults = pytest.mark.parametrize("fault", FAULTS)


def _entity(lazy_type: type[LazyEntity], fault: str) -> Any:
    field = property_field("name", FAULTS[fault][0])
    return lazy_type.from_bytes(wire.encode([GOOD_KEY, GOOD, field]))


@with_faults
def test_a_name_without_a_text(lazy_type: type[LazyEntity], fault: str) -> None:
    """It finds the property, and has the error that the name itself has."""
    kind = FAULTS[fault][1]
    with pytest.raises(kind) as plain:
        _entity(lazy_type, fault)["name"]
    for read in ("__getitem__", "get", "pop"):
        with pytest.raises(kind) as caught:
            getattr(_entity(lazy_type, fault), read)(hostile.Name("name"))
        assert type(caught.value) is type(plain.value)
        assert str(caught.value) == str(plain.value)
        assert getattr(caught.value, "__notes__", []) == getattr(plain.value, "__notes__", [])


@with_faults
@pytest.mark.parametrize("sort", hostile.ERRORS)
def test_a_key_that_cannot_be_converted(
    lazy_type: type[LazyEntity], monkeypatch: pytest.MonkeyPatch, fault: str, sort: str
) -> None:
    """For any reason: an application may replace the conversion of keys."""

    def convert(message: Any) -> Any:
        raise hostile.ERRORS[sort]()

    monkeypatch.setattr(helpers, "key_from_protobuf", convert)
    with pytest.raises(FAULTS[fault][1]) as caught:
        _entity(lazy_type, fault)["name"]
    assert _told(caught.value).count("an entity whose key cannot be read") == 1


@with_faults
@pytest.mark.parametrize("sort", hostile.VALUES)
def test_a_key_without_a_text(
    lazy_type: type[LazyEntity], monkeypatch: pytest.MonkeyPatch, fault: str, sort: str
) -> None:
    monkeypatch.setattr(helpers, "key_from_protobuf", lambda message: hostile.VALUES[sort]())
    with pytest.raises(FAULTS[fault][1]) as caught:
        _entity(lazy_type, fault)["name"]
    assert _told(caught.value).count("'name' of the entity ") == 1


def _told(error: BaseException) -> str:
    return " ".join([str(error), *getattr(error, "__notes__", [])])


@pytest.mark.parametrize("sort", hostile.VALUES)
def test_an_assigned_key_without_a_text(lazy_type: type[LazyEntity], sort: str) -> None:
    """In the errors that name the entity by the key that it has now."""
    lazy: Any = lazy_type.from_bytes(wire.encode([GOOD_KEY, GOOD]))
    lazy.key = hostile.VALUES[sort]()
    make_strict(lazy)
    for name in ("good", hostile.Name("good")):
        with pytest.raises(RuntimeError, match=r"property 'good' of the entity .* not prefetched"):
            lazy[name]
    with pytest.raises(RuntimeError, match="reads all properties of the entity "):
        lazy.copy()
    with pytest.raises(TypeError, match="the value for property 'new' is, or holds, an undecoded"):
        lazy[hostile.Name("new")] = UNDECODED
    partly = lazyentity.detach([lazy])[0]
    with pytest.raises(RuntimeError, match=r"the entity .* was detached with only"):
        lazyentity.raw(partly)
    leaked = Entity()
    leaked.key = hostile.VALUES[sort]()
    leaked[hostile.Name("leaked")] = [UNDECODED]
    with pytest.raises(TypeError, match=r"property 'leaked' of the entity .* undecoded property"):
        lazyentity.to_dict(leaked)


class _Type(type):
    """The type of values whose comparison refuses."""

    def __eq__(cls, other: object) -> bool:
        raise hostile.Refusal

    __hash__ = type.__hash__


class _Value(metaclass=_Type):
    pass


def test_a_value_of_any_type(lazy_type: type[LazyEntity]) -> None:
    """The client's error for a value that Datastore lacks stays, however its type compares."""
    lazy: Any = lazy_type.from_bytes(wire.encode([GOOD_KEY, GOOD]))
    lazy["other"] = _Value()
    stock = lazyentity.materialize(lazy)
    with pytest.raises(ValueError, match="Unknown protobuf attr type") as expected:
        helpers.entity_to_protobuf(stock)
    for write in (lazyentity.raw, helpers.entity_to_protobuf):
        with pytest.raises(ValueError, match="Unknown protobuf attr type") as caught:
            write(lazy)
        assert caught.value.args[1] is expected.value.args[1]
