"""Counting for a profile of models, which read the properties of their entities."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.ndb import model

from lazyentity.patches.ndb import models
from lazyentity.patches.ndb.mappings import obstacle_of
from lazyentity.profiling.observer import while_running


def _readable(values: Any) -> int:
    """Return how many properties of the entity reads of the values can still decode."""
    dotted = values._dotted
    parts = {} if dotted is None else dotted.parts
    # A computed value takes the place of the received one.
    return sum(
        len(parts.get(name, (name,)))
        for name in values._undecoded()
        if not isinstance(values._properties.get(name), model.ComputedProperty)
    )


def _marking(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _model(entity: Any, *args: Any, **kwargs: Any) -> Any:
        instance = original(entity, *args, **kwargs)
        entity_counts = entity._entity_counts
        if entity_counts is not None:
            entity_counts.call_site.has_no_options = True
            if type(instance._values) is models.LazyValues:
                entity_counts.expect(_readable(instance._values))
            else:
                entity_counts.call_site.obstacle = obstacle_of(instance, entity)
        return instance

    return _model


while_running(models, "_model", _marking)
