"""Counting for a profile of models, which read the properties of their entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.cloud.ndb import model

from lazyentity.patches.ndb.mappings import obstacle_of
from lazyentity.storage.lazyvaluedict import LazyValueDict

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts


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


def count_model(instance: Any, entity: Any) -> None:
    """Count the reads of a model that was just made.

    Args:
        instance: the model.
        entity: its lazy entity.
    """
    entity_counts: EntityCounts | None = entity._entity_counts
    if entity_counts is None:
        return
    entity_counts.call_site.has_no_options = True
    if isinstance(instance._values, LazyValueDict):
        entity_counts.expect(_readable(instance._values))
    else:
        entity_counts.call_site.obstacle = obstacle_of(instance, entity)
