"""pydantic-core's validators and serializers: what their schemas say of the values they get.

pydantic's models, dataclasses, type adapters and validated functions all call these. They hold
their schemas, and refuse weak references: so answers about them are kept by their ids, until
another one is constructed at the same place.
"""

from __future__ import annotations

import inspect
import itertools
import types
import weakref
from typing import Any, NamedTuple

from lazyentity._classes import forgetting
from lazyentity._inplace import SLOTS, forget_closed
from lazyentity.patches.adapters import fields

CLOSED: dict[int, bool] = {}
"""By the id of a core: whether its values need no look, as :func:`.fields.is_closed` says.

Empty on the pure backend, which is not told of constructions.
"""


class Known(NamedTuple):
    """The answers of a schema.

    Attributes:
        is_closed: whether values need no look.
        model: a weak reference to the model that a value becomes; None, if it may become others.
        unread: how many of the first arguments of a validated function pydantic hands on unread.
    """

    is_closed: bool
    model: weakref.ref[Any] | None
    unread: int


UNKNOWN = Known(False, None, 0)
_known: dict[int, Known] = {}


def forget(core: object) -> None:
    """Forget the answers about a predecessor of a validator or serializer that was just made."""
    _known.pop(id(core), None)
    CLOSED.pop(id(core), None)
    forget_closed()


def forget_all() -> None:
    """Forget all answers: constructions were not told of."""
    _known.clear()
    CLOSED.clear()
    forget_closed()


def known_of(core: Any) -> Known:
    """Return what the schema of a validator or serializer says."""
    found = _known.get(id(core))
    if found is None:
        found = _described(core)
        if SLOTS:
            _known[id(core)] = found
            CLOSED[id(core)] = found.is_closed
    return found


def _described(core: Any) -> Known:
    try:
        # A pickle is made of it, too.
        schema = core.__reduce__()[1][0]
        call = schema["schema"] if schema["type"] == "definitions" else schema
        if call["type"] == "call":
            unread = _unread(call["function"])
            return Known(SLOTS and fields.takes_closed(schema, call, unread), None, unread)
        return Known(SLOTS and fields.is_closed_schema(schema), fields.only_model(schema), 0)
    except Exception:  # noqa: BLE001  # a schema of another version: anything is possible
        return UNKNOWN


_unread_of: dict[int, Any] = {}
"""By the id of a function: a weak reference, and the result of :func:`_unread`."""


def _unread(function: Any) -> int:
    """Return how many of the first arguments of a function, as ``self``, pydantic hands on unread.

    These have no annotation.
    """
    if type(function) is not types.FunctionType or not {"__signature__", "__wrapped__"}.isdisjoint(
        vars(function)
    ):
        return 0
    known = _unread_of.get(id(function))
    if known is None:
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        annotated = inspect.signature(function).parameters
        empty = inspect.Parameter.empty
        count = sum(
            1 for _ in itertools.takewhile(lambda n: annotated[n].annotation is empty, names)
        )
        known = _unread_of[id(function)] = forgetting(function, _unread_of), count
    found: int = known[1]
    return found
