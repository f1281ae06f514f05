"""Model classes and entities that show one thing each."""

from __future__ import annotations

from typing import Any

from google.appengine.api import datastore
from google.appengine.ext import db

APP = "app"


def raw_entity(kind: str, /, **values: Any) -> bytes:
    """Serialise an entity that has no model class."""
    entity = datastore.Entity(kind, id=1, _app=APP)
    entity.update(values)
    raw: bytes = entity._ToPb().SerializeToString()
    return raw


class Meta(db.PropertiedClass):
    def __call__(self, *args: Any, **kwds: Any) -> Any:
        made = super().__call__(*args, **kwds)
        made.called = True
        return made


class Elsewhere(db.StringProperty):
    def _attr_name(self) -> str:
        return "elsewhere"


def _init(self: Any, *args: Any, **kwds: Any) -> None:
    db.Model.__init__(self, *args, **kwds)
    self.made_with = sorted(kwds)


def _from_entity(cls: Any, entity: Any) -> Any:
    model = super(cls, cls).from_entity(entity)
    model.seen = dict(vars(model))["_name"]
    return model


def _load_entity_values(cls: Any, entity: Any) -> Any:
    return {**super(cls, cls)._load_entity_values(entity), "name": "loaded"}


def _setattr(self: Any, name: str, value: Any) -> None:
    db.Model.__setattr__(self, name, [value] if name == "_name" else value)


def _new(cls: Any, *args: Any, **kwds: Any) -> Any:
    made = db.Model.__new__(cls)
    vars(made)["made_by_new"] = True
    return made


def _classes(metaclass: Any = db.PropertiedClass, **members: dict[str, Any]) -> dict[str, Any]:
    """Define classes, each with a property ``name`` and further members, by what they have."""
    return {
        name: metaclass(f"With_{name}", (db.Model,), {"name": db.StringProperty(), **further})
        for name, further in members.items()
    }


_METHODS: dict[str, Any] = {
    "__init__": _init,
    "__new__": _new,
    "__setattr__": _setattr,
    "__getattr__": lambda self, name: f"no {name}",
    "_load_entity_values": classmethod(_load_entity_values),
    "from_entity": classmethod(_from_entity),
    "properties": classmethod(lambda cls: {}),
}
_ARGUMENTS = ("key", "key_name", "parent", "self")

CLASSES = {
    **_classes(
        **{f"argument_{name}": {"name": db.StringProperty(name=name)} for name in _ARGUMENTS}
    ),
    **_classes(**{name: {name: method} for name, method in _METHODS.items()}),
    **_classes(Meta, call_of_the_metaclass={}),
    **_classes(
        odd_name={"name": db.StringProperty(name="app")},
        other_private_name={"name": Elsewhere()},
        one_stored_name_of_two={"other": db.StringProperty(name="name", default="d")},
    ),
}
"""Classes whose models db makes itself."""


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
