"""joblib hashes an entity as it hashes the stock one, so that results on disk are found."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore import Entity

from lazyentity.entity import LazyEntityBase


def hash_as_stock(hasher: Any) -> None:
    """Have a hasher of joblib, which is a pickler, take stock entities in place of lazy ones."""
    # A replaced method of the pickler would be called for each object.
    hasher.dispatch = {**hasher.dispatch, **dict.fromkeys(_classes(), _save_twin)}


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
