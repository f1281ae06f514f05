"""Counting for a profile of models, which read the properties of their entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts


def count_model(instance: Any, entity: Any) -> None:
    """Count the reads of a model that was just made.

    Args:
        instance: the model.
        entity: its lazy entity.
    """
    entity_counts: EntityCounts | None = entity._entity_counts
    if entity_counts is not None:
        entity_counts.without_options += 1
