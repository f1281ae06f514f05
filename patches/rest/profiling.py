"""Counting for a profile of entities that came as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lazyentity.patches.rest.properties import JsonProperties, LazyProperties, RawJsonProperties

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
        self._entity_counts.decode((name,))
        return parsed


def count_entity(properties: LazyProperties, key: Any, data: ProfileData) -> None:
    """Count an entity of a client of the REST API.

    The size of its serialised properties counts; 0, if they came parsed.

    Args:
        properties: of the entity. Not its attribute, which a class of an application may change.
        key: of the entity.
        data: of the profile.
    """
    received = properties._received
    size = sum(map(len, received.values())) if type(received) is RawJsonProperties else 0
    counts = data.counts(_kind_of(key)).receive(received, size)
    properties._received = _Counted(received, counts)  # type: ignore[assignment]  # parses alike


def _kind_of(key: Any) -> str | None:
    """Return the kind in a key; None without one, and for keys of an application's own form."""
    try:
        kind = key.path[-1].kind
    except Exception:  # noqa: BLE001  # of the application's code
        return None
    return kind if type(kind) is str else None
