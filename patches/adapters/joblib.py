"""joblib: the hash of an entity is that of the stock one, so that results on disk are found."""

from __future__ import annotations

from typing import Any

from google.cloud.datastore import Entity

from lazyentity._inplace import When
from lazyentity.entity import LazyEntityBase
from lazyentity.patches.adapters.calls import CallSeam


def _hash(_: None, wrapped: Any, __: Any, args: Any, kwargs: Any) -> Any:
    hasher = args[0]
    # A replaced method of the pickler would be called for each object.
    hasher.dispatch = {**hasher.dispatch, **dict.fromkeys(_classes(), _save_twin)}
    return wrapped(*args, **kwargs)


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


SEAMS = (CallSeam("joblib.hashing", "Hasher.hash", _hash, when=When(always=True)),)
