"""Counting for a profile of models, which read the properties of their entities."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.ndb import model

from lazyentity.codec.profiled import while_running
from lazyentity.patches.ndb import models


def _properties(instance: Any) -> list[Any]:
    """Return the properties of values that are still to be made; None for each dynamic one."""
    values = instance._values
    return [values._properties.get(name) for name in values._undecoded()]


def _is_read(prop: Any) -> bool:
    # A computed value takes the place of the received one.
    return not isinstance(prop, model.ComputedProperty)


def _marking(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _model(entity: Any, *args: Any, **kwargs: Any) -> Any:
        instance = original(entity, *args, **kwargs)
        arrival = entity._arrival
        if arrival is not None and type(instance._values) is models.LazyValues:
            arrival.inflow.has_no_options = True
            arrival.expect(sum(map(_is_read, _properties(instance))))
        return instance

    return _model


while_running(models, "_model", _marking)
