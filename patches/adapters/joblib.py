"""joblib: the hash of an entity is that of the stock one, so that results on disk are found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.datastore import Entity

from lazyentity.entity import LazyEntityBase
from lazyentity.patches.registry import Seam


def _save(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    @functools.wraps(original)
    def save(self: Any, obj: Any) -> Any:
        if isinstance(obj, LazyEntityBase) and is_active():
            twins = vars(self).setdefault("_lazyentity_twins", {})
            if id(obj) not in twins:
                # The entity is kept too, so that its id is not reused.
                twins[id(obj)] = obj, _stock_twin(obj)
            obj = twins[id(obj)][1]
        return original(self, obj)

    return save


def _stock_twin(entity: LazyEntityBase) -> Entity:
    """Return a stock entity with the values and attributes of ``entity``."""
    twin = Entity()
    twin.update(entity.items())
    twin.__dict__ = vars(entity)
    return twin


SEAMS = (Seam("joblib.hashing", "Hasher.save", _save),)
