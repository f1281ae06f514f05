"""Counting for a profile of elements, whose properties are read in place of their entity's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazyentity.patches.beam.elements import ElementProperties

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts


class _Counted(ElementProperties):
    """The properties of an element whose entity is counted.

    Attributes:
        _entity_counts: of the entity.
    """

    __slots__ = ("_entity_counts",)

    _entity_counts: EntityCounts

    def _compute(self, name: Any) -> Any:
        made = super()._compute(name)
        self._entity_counts.decode((name,))
        return made


def count_element(element: Any, entity_counts: EntityCounts) -> None:
    """Count the reads of an element that was just made.

    Args:
        element: lazy. Out of bytes, as in another process, it comes without the count.
        entity_counts: of its entity.
    """
    entity_counts.without_options += 1
    properties: Any = _Counted.from_entity(element._entity())
    properties._entity_counts = entity_counts
    vars(element)["properties"] = properties
