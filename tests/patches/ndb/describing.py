"""Models as plain values: comparable between processes and without lazyentity.

Imports nothing of lazyentity: the process that stays stock imports this.
"""

from __future__ import annotations

import copy
import functools
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.cloud import ndb
from google.cloud.ndb import _datastore_query, model

from tests.support.describing import describe as describe_base

Views = Mapping[str, Callable[[Any], Any]]

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_PROJECTION = re.compile(r"(?<=_projection=\()[^)]*(?=\))")
_SCALARS = frozenset((str, bytes, int, float, bool, type(None)))


class Described(list[Any]):
    """A description. The description of one is itself: a view may return one."""


def attempt(call: Callable[[], Any], views: Views | None = None) -> Any:
    """Return the description of the result of ``call``, or the class of its error.

    Not the text: those of servers have numbers of transactions and the like in them.
    """
    try:
        return describe(call(), views)
    except Exception as error:  # noqa: BLE001  # any error is compared
        return ["raised", type(error).__qualname__]


def text_of(value: Any) -> str:
    """Return the ``repr`` without the parts that stock ndb leaves to chance.

    These are the addresses of objects that have no other ``repr``, and the order of the names in a
    model's ``_projection``, which ndb takes from a protobuf map.
    """
    text = repr(value)
    # Hardly any text has one of them, and nothing else is called as often in these tests.
    if " at 0x" in text:
        text = _ADDRESS.sub("", text)
    if "_projection=(" in text:
        text = _PROJECTION.sub(_sorted_names, text)
    return text


def _sorted_names(names: re.Match[str]) -> str:
    return ", ".join(sorted(names[0].split(", ")))


def describe(value: Any, views: Views | None = None) -> Any:
    """Return the types and values of models, keys and anything that a property can hold.

    Two descriptions are equal if nothing tells the two values apart. The order of properties that
    stock ndb leaves to chance does not count.

    Args:
        value: the value to describe.
        views: the views of models; by default, all of :data:`VIEWS`.
    """
    if type(value) in _SCALARS:
        return [type(value).__qualname__, text_of(value), None]
    if type(value) is Described:
        return value
    if isinstance(value, ndb.Model):
        seen = VIEWS if views is None else views
        return [
            "a model",
            {name: attempt(functools.partial(see, value)) for name, see in seen.items()},
        ]
    if isinstance(value, ndb.Key):
        key = (*value.pairs(), value.app(), value.namespace(), value.database())
        return ["a Key", *map(repr, key)]
    if isinstance(value, _datastore_query.Cursor):
        return ["a Cursor", bool(value.cursor)]
    if isinstance(value, model._BaseValue):
        return ["a base value", describe(value.b_val, views)]
    if isinstance(value, list | tuple):
        return [type(value).__qualname__, [describe(item, views) for item in value]]
    if type(value) is dict:
        return ["a dict", sorted([name, describe(item, views)] for name, item in value.items())]
    if hasattr(value, "latitude") or hasattr(value, "exclude_from_indexes"):
        return describe_base(value)
    return [type(value).__qualname__, text_of(value), getattr(value, "nanosecond", None)]


def _attributes(entity: Any) -> Any:
    names = {prop._code_name for prop in entity._properties.values()}
    return Described(
        sorted(
            [name, attempt(functools.partial(getattr, entity, name), _NESTED_VIEWS)]
            for name in names
        )
    )


def _other_state(entity: Any) -> Any:
    return Described(
        sorted(
            [name, describe(value)]
            for name, value in vars(entity).items()
            if name not in ("_values", "_properties", "_projection")
        )
    )


def _without_number(entity: Any) -> Any:
    del entity.number
    return entity


VIEWS: dict[str, Callable[[Any], Any]] = {
    "class": lambda entity: f"{type(entity).__module__}.{type(entity).__qualname__}",
    "key": lambda entity: entity.key,
    # Sorted for the reason that text_of() gives.
    "projection": lambda entity: [type(entity._projection), sorted(entity._projection)],
    "names": lambda entity: sorted(entity._values),
    "repr": text_of,
    "attributes": _attributes,
    "to_dict": lambda entity: entity.to_dict(),
    "state": _other_state,
}
"""All that is compared of a model, by name."""

_NESTED_VIEWS = {name: VIEWS[name] for name in ("class", "names", "attributes", "state")}


FIRST_VIEWS: dict[str, Callable[[Any], Any]] = {
    **VIEWS,
    "base values": lambda entity: entity._values.copy(),
    "items": lambda entity: Described(
        sorted([name, describe(x)] for name, x in entity._values.items())
    ),
    "to_dict of some": lambda entity: entity.to_dict(include=["number", "address", "tags"]),
    "populated": lambda entity: [entity.populate(number=5), entity],
    "deleted": _without_number,
    "has values": lambda entity: sorted(
        [name, prop._has_value(entity)] for name, prop in entity._properties.items()
    ),
    "equal to itself": lambda entity: entity == entity,
    "equal to a copy": lambda entity: entity == copy.copy(entity),
    "copy": copy.copy,
    "deep copy": copy.deepcopy,
    "pickle": lambda entity: pickle.loads(pickle.dumps(entity)),
    "written": lambda entity: model._entity_to_ds_entity(entity),
    "vars": lambda entity: vars(entity)["_values"] == vars(copy.deepcopy(entity))["_values"],
}
"""Operations that may be the first on a model."""


def models(value: Any) -> Iterator[Any]:
    """Give all models in ``value``, but not those inside models."""
    if isinstance(value, ndb.Model):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from models(part)


def storages(value: Any) -> set[str]:
    """Return the names of the classes of ``_values`` of all models in ``value``."""
    return {type(entity._values).__name__ for entity in models(value)}
