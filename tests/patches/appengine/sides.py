"""Stock entities and lazy ones of the same bytes, and descriptions to compare them by."""

from __future__ import annotations

from typing import Any

from google.appengine.api import datastore, datastore_types, users
from google.protobuf.message import Message

from lazyentity.patches.appengine.entities import LazyEntity
from tests.patches.appengine.strategies import EntityProto

# The client's own, as nothing is patched while tests are collected. In a tuple: a module that holds
# it by a name is patched too late.
_STOCK_FROM_PB = (datastore.Entity._FromPb,)


def stock(message: Any, require_valid_key: bool = True) -> Any:
    """Make a stock entity."""
    copied = EntityProto()
    copied.CopyFrom(message)
    return _STOCK_FROM_PB[0](copied, require_valid_key)


def lazy(message: Any, index_type: Any) -> Any:
    """Make a lazy entity; None, if there is no index of its bytes."""
    index = index_type.of(message.SerializePartialToString())
    return None if index is None else LazyEntity._of(index)


def alone(message: Any, name: str) -> Any:
    """Return the entity with the properties of one name."""
    made = EntityProto()
    made.key.CopyFrom(message.key)
    made.property.extend(each for each in message.property if each.name == name)
    made.raw_property.extend(each for each in message.raw_property if each.name == name)
    return made


def described(value: Any) -> Any:
    """Return everything about a value, in a form that can be compared."""
    if type(value) is list:
        return [described(each) for each in value]
    if type(value) is frozenset:
        return "frozenset", sorted(value)
    if isinstance(value, users.User):
        return "user", vars(value)
    if isinstance(value, datastore_types.GeoPt):
        return "point", repr(value.lat), repr(value.lon)
    if isinstance(value, Message):
        return sorted_message(value)
    if isinstance(value, datastore.Entity):
        attributes = {name: described(each) for name, each in vars(value).items()}
        return [(name, described(each)) for name, each in value.items()], attributes
    return type(value), repr(value), getattr(value, "meaning_uri", None)


def sorted_message(message: Any) -> str:
    """Return the text of a message, unknown fields included."""
    return repr(
        type(message)
        .FromString(message.SerializePartialToString())
        .SerializePartialToString(deterministic=True)
    )


def outcome(act: Any) -> Any:
    """Return what a function gives, described, or the error: its type and first line."""
    try:
        return described(act())
    except Exception as error:  # noqa: BLE001  # it is compared
        return type(error), str(error).partition("\n")[0]
