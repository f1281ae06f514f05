"""Counting for a profile of elements, whose properties are read in place of their entity's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lazyentity.patches.beam import conversion
from lazyentity.patches.beam.elements import LazyProperties
from lazyentity.profiling.observer import while_running

if TYPE_CHECKING:
    from lazyentity.profiling.counters import Arrival


class _Counted(LazyProperties):
    """The properties of an element whose entity is counted.

    Attributes:
        _arrival: of the entity.
    """

    __slots__ = ("_arrival",)

    _arrival: Arrival

    def _made(self, name: Any) -> Any:
        made = super()._made(name)
        self._arrival.copied([name])
        return made


def _counting(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def _element(entity: Any) -> Any:
        element = original(entity)
        arrival = entity._arrival
        if element is not None and arrival is not None:
            arrival.call_site.has_no_options = True
            # An element that comes out of bytes again, as in another process, is not counted.
            properties: Any = _Counted.of(element._entity())
            properties._arrival = arrival
            vars(element)["properties"] = properties
        return element

    return _element


while_running(conversion, "_element", _counting)
