"""Elements in a form that is equal only to that of an indistinguishable element."""

from __future__ import annotations

from typing import Any

from apache_beam.io.gcp.datastore.v1new import types
from google.cloud.datastore.entity import Entity

from tests.support.snapshots import snapshot
from tests.support.stock import stock_entity

_ATTRIBUTES = ("key", "exclude_from_indexes", "properties")


def stock_element(raw: bytes) -> Any:
    """Return the element that Beam makes of a serialised entity. Nothing may be patched."""
    element = types.Entity.from_client_entity(stock_entity(raw))
    assert type(element) is types.Entity
    return element


def form(value: Any) -> Any:
    """Return an element, or a value in it, in that form; a lazy element gives the stock form.

    Meanings are left out, which Beam drops.
    """
    if isinstance(value, types.Entity):
        return {
            "key": form(value.key),
            "excluded": (type(value.exclude_from_indexes), set(value.exclude_from_indexes)),
            "properties": value.properties
            and {name: form(each) for name, each in value.properties.items()},
            "others": {name: each for name, each in vars(value).items() if name not in _ATTRIBUTES},
        }
    if isinstance(value, types.Key):
        return {name: form(each) for name, each in vars(value).items()}
    if type(value) is list:
        return [form(each) for each in value]
    if isinstance(value, Entity):
        return {**snapshot(value), "meanings": None}
    return snapshot(value)


def client_form(entity: Entity) -> Any:
    """The same of an entity of the client that an element was converted to."""
    return form(types.Entity.from_client_entity(entity))
