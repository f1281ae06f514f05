"""Counting for a profile of entities that came as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazyentity.patches.rest.properties import JsonProperties, RawJsonProperties

if TYPE_CHECKING:
    from lazyentity.profiling.counters import EntityCounts, ProfileData


class _Counted:
    """The JSON properties of a counted entity.

    Args:
        received: the properties.
        entity_counts: of the entity.
    """

    __slots__ = ("_entity_counts", "_received")

    def __init__(self, received: JsonProperties, entity_counts: EntityCounts) -> None:
        self._received = received
        self._entity_counts = entity_counts

    def parsed(self, name: str) -> Any:
        """As :meth:`~lazyentity.patches.rest.properties.JsonProperties.parsed`."""
        parsed = self._received.parsed(name)
        self._entity_counts.read(name)
        return parsed


def count_entity(entity: Any, data: ProfileData) -> None:
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
    properties._received = _Counted(received, call_site.add(received, None, size))
