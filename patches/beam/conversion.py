"""The replacement of the method that makes an element of a client's entity."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lazyentity.entity import LazyEntity, touched_attributes
from lazyentity.patches.beam.elements import of_bytes


def replace_from_client_entity(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``types.Entity.from_client_entity``, a static method."""
    convert = original.__func__

    @functools.wraps(convert)
    def from_client_entity(client_entity: Any) -> Any:
        # Strict and detached entities are of other classes, and refuse or convert by themselves.
        if type(client_entity) is LazyEntity and is_active() and _is_as_received(client_entity):
            return of_bytes(client_entity._raw)
        return convert(client_entity)

    return staticmethod(from_client_entity)


def _is_as_received(entity: LazyEntity) -> bool:
    """Whether nothing of an entity but its key was read, and nothing was changed."""
    if entity._decoded() or len(entity) != len(entity._shape.ordinals):
        return False
    attributes = touched_attributes(entity)
    # Beam looks at the keys of embedded entities.
    is_read = attributes and not _has_only_its_key(entity, attributes)
    return not is_read and not entity._deleted_attributes


def _has_only_its_key(entity: LazyEntity, attributes: dict[str, Any]) -> bool:
    return [*attributes] == ["key"] and attributes["key"] is entity._wire_key()
