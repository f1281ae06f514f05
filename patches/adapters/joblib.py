"""joblib: the hash of an entity is that of the stock one, so that results on disk are found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from google.cloud.datastore import Entity

from lazyentity.entity import LazyEntityBase
from lazyentity.patches.registry import Seam


def _hash(original: Callable[..., Any], is_active: Callable[[], bool]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hash(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A001  # the name of the original
        if is_active():
            # A replaced method of the pickler would be called for each object.
            self.dispatch = {**self.dispatch, **dict.fromkeys(_classes(), _save_twin)}
        return original(self, *args, **kwargs)

    return hash


def _classes() -> list[Any]:
    found: list[Any] = [LazyEntityBase]
    for kind in found:
        found += type.__subclasses__(kind)
    return found


def _save_twin(hasher: Any, entity: LazyEntityBase) -> None:
    twins = vars(hasher).setdefault("_lazyentity_twins", {})
    if id(entity) not in twins:
        # The entity is kept too, so that its id is not reused.
        twins[id(entity)] = entity, _stock_twin(entity)
    hasher.save(twins[id(entity)][1])


def _stock_twin(entity: LazyEntityBase) -> Entity:
    """Return a stock entity with the values and attributes of ``entity``."""
    twin = Entity()
    twin.update(entity.items())
    twin.__dict__ = vars(entity)
    return twin


SEAMS = (Seam("joblib.hashing", "Hasher.hash", _hash),)
