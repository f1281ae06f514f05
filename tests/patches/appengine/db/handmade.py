"""Model classes and entities that show one thing each."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from google.appengine.api import datastore, datastore_types
from google.appengine.ext import db
from google.appengine.ext.db import polymodel

APP = "app"
_numbers = itertools.count()


def raw_entity(kind: str, /, **values: Any) -> bytes:
    """Serialise an entity that has no model class."""
    entity = datastore.Entity(kind, id=1, _app=APP)
    entity.update(values)
    raw: bytes = entity._ToPb().SerializeToString()
    return raw


def _with_init() -> Any:
    class WithInit(db.Model):
        name = db.StringProperty()

        def __init__(self, *args: Any, **kwds: Any) -> None:
            super().__init__(*args, **kwds)
            self.made_with = sorted(kwds)

    return WithInit


def _with_from_entity() -> Any:
    class WithFromEntity(db.Model):
        name = db.StringProperty()

        @classmethod
        def from_entity(cls, entity: Any) -> Any:
            model = super().from_entity(entity)
            model.seen = dict(vars(model))["_name"]
            return model

    return WithFromEntity


def _with_load() -> Any:
    class WithLoad(db.Model):
        name = db.StringProperty()

        @classmethod
        def _load_entity_values(cls, entity: Any) -> Any:
            return {**super()._load_entity_values(entity), "name": "loaded"}

    return WithLoad


def _with_setattr() -> Any:
    class WithSetattr(db.Model):
        name = db.StringProperty()

        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, [value] if name == "_name" else value)

    return WithSetattr


def _with_getattr() -> Any:
    class WithGetattr(db.Model):
        name = db.StringProperty()

        def __getattr__(self, name: str) -> Any:
            return f"no {name}"

    return WithGetattr


def _with_new() -> Any:
    class WithNew(db.Model):
        name = db.StringProperty()

        def __new__(cls, *args: Any, **kwds: Any) -> Any:
            made = super().__new__(cls)
            vars(made)["made_by_new"] = True
            return made

    return WithNew


def _with_properties() -> Any:
    class WithProperties(db.Model):
        name = db.StringProperty()

        @classmethod
        def properties(cls) -> Any:
            return {}

    return WithProperties


def _with_call() -> Any:
    class Meta(db.PropertiedClass):
        def __call__(self, *args: Any, **kwds: Any) -> Any:
            made = super().__call__(*args, **kwds)
            made.called = True
            return made

    class WithCall(db.Model, metaclass=Meta):
        name = db.StringProperty()

    return WithCall


def _with_attribute() -> Any:
    class WithAttribute(db.Model):
        name = db.StringProperty()
        _name = "of the class"

    return WithAttribute


def _with_slot() -> Any:
    class WithSlot(db.Model):
        __slots__ = ("_name",)
        name = db.StringProperty()

    return WithSlot


def _with_odd_name() -> Any:
    class WithOddName(db.Model):
        name = db.StringProperty(name="app")

    return WithOddName


def _with_constructor_name(stored_name: str) -> Callable[[], Any]:
    def make() -> Any:
        class WithConstructorName(db.Model):
            name = db.StringProperty(name=stored_name)

        return WithConstructorName

    return make


def _with_attr_name() -> Any:
    class Elsewhere(db.StringProperty):
        def _attr_name(self) -> str:
            return "elsewhere"

    class WithAttrName(db.Model):
        name = Elsewhere()

    return WithAttrName


def _twice() -> Any:
    class Twice(db.Model):
        name = db.StringProperty()
        other = db.StringProperty(name="name", default="d")

    return Twice


CLASSES: dict[str, Callable[[], Any]] = {
    "__init__": _with_init,
    "from_entity": _with_from_entity,
    "_load_entity_values": _with_load,
    "__setattr__": _with_setattr,
    "__getattr__": _with_getattr,
    "__new__": _with_new,
    "properties": _with_properties,
    "call of the metaclass": _with_call,
    "private name of the constructor's": _with_odd_name,
    "other private name": _with_attr_name,
    **{
        f"argument {name} of the constructor": _with_constructor_name(name)
        for name in ("key", "key_name", "parent", "self")
    },
    "one stored name of two": _twice,
}
"""Classes whose models db makes itself, by what they have."""

AT_ONCE: dict[str, Callable[[], Any]] = {
    "attribute": _with_attribute,
    "slot": _with_slot,
}
"""Classes that have the private attribute of a property, which is loaded at once."""


class Animal(polymodel.PolyModel):
    """The root of a hierarchy."""

    legs = db.IntegerProperty()


class Cat(Animal):
    """A class of the hierarchy."""

    name = db.StringProperty()


class Strict(db.Model):
    """A class with validators that refuse."""

    required = db.StringProperty(required=True)
    number = db.IntegerProperty()
    checked = db.StringProperty(validator=lambda value: _refuse(value))
    plain = db.StringProperty()


def _refuse(value: Any) -> None:
    if value == "bad":
        raise db.BadValueError("refused")
    if value == "worse":
        raise AttributeError("no such thing")


KEY = datastore_types.Key.from_path("Strict", 1, _app=APP)
