"""Counting for a profile of elements, whose properties are read in place of their entity's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazyentity.patches.beam import conversion
from lazyentity.patches.beam.elements import LazyProperties
from lazyentity.profiling.observer import while_running

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts


class _Counted(LazyProperties):
    """The properties of an element whose entity is counted.

    Attributes:
        _entity_counts: of the entity.
    """

    __slots__ = ("_entity_counts",)

    _entity_counts: EntityCounts

    def _made(self, name: Any) -> Any:
        made = super()._made(name)
        self._entity_counts.copied([name])
        return made


def _counting(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def _element(entity: Any) -> Any:
        element = original(entity)
        entity_counts = entity._entity_counts
        if element is not None and entity_counts is not None:
            entity_counts.call_site.has_no_options = True
            # An element that comes out of bytes again, as in another process, is not counted.
            properties: Any = _Counted.of(element._entity())
            properties._entity_counts = entity_counts
            vars(element)["properties"] = properties
        return element

    return _element


while_running(conversion, "_element", _counting)
