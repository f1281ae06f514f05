"""Entities that keep only the properties read so far, to save memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar, cast

from google.cloud.datastore.entity import Entity

from lazyentity._dispatch import operations_of, require_entity
from lazyentity.codec import shadow
from lazyentity.codec.describing import describe_entity, describe_type
from lazyentity.entity import (
    LazyEntity,
    LazyEntityBase,
    derived_type,
    plain_type,
    touched_attributes,
)
from lazyentity.plain import copied_flags, stock_value

_Entity = TypeVar("_Entity", bound=Entity)


def detach(entities: Iterable[_Entity], *, partial: bool = False) -> list[_Entity]:
    """Return entities that keep only the properties read so far, their bytes, and the key.

    >>> import lazyentity
    >>> made = lazyentity.LazyEntity()
    >>> made.update(amount=12.5, note="call first")
    >>> order = lazyentity.LazyEntity.from_bytes(lazyentity.raw(made))
    >>> order["amount"]
    12.5
    >>> lazyentity.detach([order], partial=True)
    [<Entity {'amount': 12.5}>]

    A detached entity has only the properties that were decoded or assigned so far. Writing it would
    delete the others, so ``put()`` of any client and ``raw()`` refuse it. They also refuse its
    copies, its pickles and the results of ``materialize()``; only lazyentity can load such a
    pickle. If every property was read, the detached entity is complete, and can be written like any
    other.

    Args:
        entities: lazy or stock entities. They do not change, with one exception: if a property
            with a meaning was read (legacy values have one), the other properties with a meaning
            are decoded. A stock entity is returned itself, because it has no unread properties.
        partial: make entities that can be written; writing one deletes the other properties.

    Returns:
        The detached entities, in the order of ``entities``. Their lists, dicts and embedded
        entities are new; other values are shared. An embedded entity keeps all its properties, in
        separate bytes.

    Raises:
        TypeError: if ``entities`` is a single entity, or holds anything but entities.
    """
    if isinstance(entities, Entity) or operations_of(entities) is not None:
        raise TypeError("detach() takes an iterable of entities, not one: detach([entity])")
    if not isinstance(entities, Iterable):
        raise TypeError(f"detach() takes an iterable of entities, not {describe_type(entities)}")
    return [_detach(entity, partial) for entity in entities]


def _detach(entity: _Entity, partial: bool) -> _Entity:
    own = operations_of(entity)
    if own is not None:
        return own.detach(entity, partial)  # type: ignore[no-any-return]  # of that client's class
    require_entity("detach", entity)
    if not isinstance(entity, LazyEntityBase):
        return entity
    kept, _, _, size = entity._changes()
    whole = len(kept) == size and not isinstance(entity, DetachedEntity)
    detached: Any = _copy(entity, _raw_of(entity, kept), kept)
    if not (whole or partial):
        detached.__class__ = derived_type(DetachedEntity, plain_type(entity))
    return cast(_Entity, detached)


def _raw_of(entity: LazyEntityBase, names: Iterable[str]) -> bytes:
    """Serialise the key and the received properties among ``names``, unchanged."""
    ordinals = entity._shape.ordinals
    received = [name for name in names if name in ordinals]
    part = shadow.EntityEntries(key=shadow.EntityParts.FromString(entity._raw).key)
    for name, value in zip(received, entity._serialised_values(received), strict=True):
        part.properties.add(key=name.encode(), value=value)
    serialised: bytes = part.SerializeToString()
    return serialised


def _copy(entity: LazyEntityBase, raw: bytes, values: dict[Any, Any]) -> Any:
    """Make a lazy entity over ``raw``.

    Args:
        entity: the lazy entity to copy, which may change meanwhile.
        raw: the bytes of the copy.
        values: the properties of the copy, as the storage of ``entity`` had them at one moment.
    """
    duplicate = plain_type(entity)._from_raw(raw)
    # First: vars() in another thread reads all attributes, and only then counts them as deleted.
    duplicate._deleted_attributes = entity._deleted_attributes
    meanings = _meanings_of(entity)
    copies = {name: stock_value(value, _copied_lazy) for name, value in values.items()}
    dict.clear(duplicate)
    dict.update(duplicate, copies)
    attributes = dict(touched_attributes(entity))
    if "exclude_from_indexes" in attributes:
        flags = copied_flags(attributes["exclude_from_indexes"])
        dropped = set(entity) - values.keys()
        attributes["exclude_from_indexes"] = flags - dropped if type(flags) is set else flags
    attributes.pop("_meanings", None)
    if meanings is not None:
        attributes["_meanings"] = _meanings_of_copies(meanings, values, copies)
    touched_attributes(duplicate).update(attributes)
    return duplicate


def _meanings_of(entity: LazyEntityBase) -> Any:
    """Return the meanings of ``entity``; None if no decoded property has one."""
    attributes = touched_attributes(entity)
    if "_meanings" in attributes:
        return attributes["_meanings"]
    # Asking the entity itself would decode every property with a meaning.
    decoded = list(entity._decoded())
    if not decoded or not plain_type(entity)._from_raw(_raw_of(entity, decoded))._wire_meanings():
        return None
    return entity._wire_meanings()


def _meanings_of_copies(meanings: Any, values: Any, copies: dict[str, Any]) -> dict[str, Any]:
    # The client writes a meaning back only with the very object it was read with.
    return {
        name: (meaning, copies[name])
        for name, (meaning, original) in list(meanings.items())
        if name in values and values[name] is original
    }


def _copied_lazy(value: LazyEntityBase) -> Any:
    # Its bytes can be a span of the bytes of the entity around it.
    duplicate = _copy(value, bytes(value._raw), value._storage())
    duplicate.__class__ = type(value)
    return duplicate


class DetachedEntity(LazyEntityBase):
    """A lazy entity with some of the properties of another; writing it raises RuntimeError.

    So does ``items()``, by which an unpatched client would read it to write it.

    Not ValueError, which the client raises for values that it cannot encode. Copies, pickles and
    materialized entities are of this class too, so none can be written by mistake.
    """

    __slots__ = ()

    def items(self) -> NoReturn:
        """Refuse: an unpatched client reads an entity by ``items()`` to write it."""
        self._require_writable()

    def _require_writable(self) -> NoReturn:
        raise RuntimeError(
            f"{describe_entity(lambda: self.key)} was detached with only the properties that had "
            "been read, and writing it would delete the others; to write only these properties, "
            "call detach(entities, partial=True); to read them all, call lazyentity.to_dict(entity)"
        )

    def _wire_entity(self) -> None:
        # A copy is refused on write as well, so it must not be a stock entity.
        return None

    def _empty_plain(self) -> Entity:
        return empty_detached()

    def __reduce_ex__(self, protocol: Any) -> Any:
        _, _, *contents = super().__reduce_ex__(protocol)
        return empty_detached, (), *contents


def empty_detached() -> LazyEntity:
    """Make an entity that cannot be written, to be filled."""
    return derived_type(DetachedEntity, LazyEntity)()
