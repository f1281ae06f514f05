"""Model classes and entities that show one thing each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.appengine.api import datastore
from google.appengine.ext import db
from google.appengine.ext.db import polymodel

APP = "app"


def raw_entity(kind: str, /, **values: Any) -> bytes:
    """Serialise an entity that has no model class."""
    entity = datastore.Entity(kind, id=1, _app=APP)
    entity.update(values)
    raw: bytes = entity._ToPb().SerializeToString()
    return raw


CLASSES: dict[str, Any] = {
    f"argument {name} of the constructor": type(db.Model)(
        f"With_{name}", (db.Model,), {"name": db.StringProperty(name=name)}
    )
    for name in ("key", "key_name", "parent", "self")
}
"""Classes whose models db makes itself, by what they have."""

AT_ONCE: dict[str, Any] = {}
"""Classes that have the private attribute of a property, which is loaded at once."""


def _shows(name: str, classes: dict[str, Any] = CLASSES) -> Callable[[Any], Any]:
    """Put a class among those of a dict."""
    return lambda kind: classes.setdefault(name, kind)


@_shows("__init__")
class WithInit(db.Model):
    name = db.StringProperty()

    def __init__(self, *args: Any, **kwds: Any) -> None:
        super().__init__(*args, **kwds)
        self.made_with = sorted(kwds)


@_shows("from_entity")
class WithFromEntity(db.Model):
    name = db.StringProperty()

    @classmethod
    def from_entity(cls, entity: Any) -> Any:
        model = super().from_entity(entity)
        model.seen = dict(vars(model))["_name"]
        return model


@_shows("_load_entity_values")
class WithLoad(db.Model):
    name = db.StringProperty()

    @classmethod
    def _load_entity_values(cls, entity: Any) -> Any:
        return {**super()._load_entity_values(entity), "name": "loaded"}


@_shows("__setattr__")
class WithSetattr(db.Model):
    name = db.StringProperty()

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, [value] if name == "_name" else value)


@_shows("__getattr__")
class WithGetattr(db.Model):
    name = db.StringProperty()

    def __getattr__(self, name: str) -> Any:
        return f"no {name}"


@_shows("__new__")
class WithNew(db.Model):
    name = db.StringProperty()

    def __new__(cls, *args: Any, **kwds: Any) -> Any:
        made = super().__new__(cls)
        vars(made)["made_by_new"] = True
        return made


@_shows("properties")
class WithProperties(db.Model):
    name = db.StringProperty()

    @classmethod
    def properties(cls) -> Any:
        return {}


class Meta(db.PropertiedClass):
    def __call__(self, *args: Any, **kwds: Any) -> Any:
        made = super().__call__(*args, **kwds)
        made.called = True
        return made


@_shows("call of the metaclass")
class WithCall(db.Model, metaclass=Meta):
    name = db.StringProperty()


@_shows("attribute", AT_ONCE)
class WithAttribute(db.Model):
    name = db.StringProperty()
    _name = "of the class"


@_shows("slot", AT_ONCE)
class WithSlot(db.Model):
    __slots__ = ("_name",)
    name = db.StringProperty()


@_shows("private name of the constructor's")
class WithOddName(db.Model):
    name = db.StringProperty(name="app")


class Elsewhere(db.StringProperty):
    def _attr_name(self) -> str:
        return "elsewhere"


@_shows("other private name")
class WithAttrName(db.Model):
    name = Elsewhere()


@_shows("one stored name of two")
class Twice(db.Model):
    name = db.StringProperty()
    other = db.StringProperty(name="name", default="d")


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
