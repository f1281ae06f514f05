"""Counting for a profile of entities that came as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazyentity.patches.rest.properties import JsonProperties, RawJsonProperties

if TYPE_CHECKING:
    from lazyentity.profiling.counters import Arrival, ProfileData


class _Counted:
    """The JSON properties of a counted entity.

    Args:
        received: the properties.
        arrival: of the entity.
    """

    __slots__ = ("_arrival", "_received")

    def __init__(self, received: JsonProperties, arrival: Arrival) -> None:
        self._received = received
        self._arrival = arrival

    def parsed(self, name: str) -> Any:
        """As :meth:`~lazyentity.patches.rest.properties.JsonProperties.parsed`."""
        parsed = self._received.parsed(name)
        self._arrival.read(name)
        return parsed


def count_arrival(entity: Any, data: ProfileData) -> None:
    """Count an entity of a client of the REST API that was just made.

    The size of its serialised properties counts; 0, if they came parsed.
    """
    properties = entity.properties
    received = properties._received
    size = sum(map(len, received.values())) if type(received) is RawJsonProperties else 0
    path = getattr(entity.key, "path", None)
    kind = path[-1].kind if path else None
    call_site = data.call_site(data.site(), kind)
    call_site.has_no_options = True
    properties._received = _Counted(received, call_site.counter.arrive(received, None, size))
