"""The replacement of the method that makes an element of a client's entity."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lazyentity.entity import LazyEntity, touched_attributes
from lazyentity.patches.beam.elements import LazyElement, lazy
from lazyentity.patches.beam.profiling import count_element
from lazyentity.patches.beam.seams import CLIENT
from lazyentity.profiling import observer


def replace_from_client_entity(original: Any, is_active: Callable[[], bool]) -> Any:
    """Replace ``types.Entity.from_client_entity``, a static method."""
    convert = original.__func__

    @functools.wraps(convert)
    def from_client_entity(client_entity: Any) -> Any:
        # Strict and detached entities are of other classes, and refuse or convert by themselves.
        if type(client_entity) is LazyEntity and is_active() and CLIENT.guard.is_intact():
            element = _element(client_entity)
            if element is not None:
                if observer.data is not None and client_entity._entity_counts is not None:
                    count_element(element, client_entity._entity_counts)
                return element
        return convert(client_entity)

    return staticmethod(from_client_entity)


def _element(entity: LazyEntity) -> LazyElement | None:
    """Make an element of an entity of which nothing but its key was read, and nothing changed."""
    if entity._decoded() or len(entity) != len(entity._shape.ordinals):
        return None
    attributes = touched_attributes(entity)
    # Beam looks at the keys of embedded entities.
    is_read = attributes and not _has_only_its_key(entity, attributes)
    return None if is_read or entity._deleted_attributes else lazy(entity._raw)


def _has_only_its_key(entity: LazyEntity, attributes: dict[str, Any]) -> bool:
    return [*attributes] == ["key"] and attributes["key"] is entity._wire_key()
