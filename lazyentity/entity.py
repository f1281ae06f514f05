"""The lazy entity."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar, cast

from google.cloud.datastore.entity import Entity

from lazyentity._backend import LazyMapping
from lazyentity._types import describe_type

_Self = TypeVar("_Self", bound="LazyEntityBase")


if TYPE_CHECKING:

    class _MappingAndEntity(LazyMapping, Entity):
        """What is beside :class:`LazyEntityBase` among the bases of every lazy entity."""

else:
    _MappingAndEntity = object


class LazyEntityBase(_MappingAndEntity):
    """What makes an ``Entity`` of a lazy mapping, whichever implementation of the mapping it is."""

    __slots__ = ()

    @classmethod
    def from_bytes(cls: type[_Self], raw: bytes) -> _Self:
        """Make a lazy entity of a serialised ``google.datastore.v1.Entity`` message.

        Args:
            raw: the message in protobuf's wire format. The entity keeps it for as long as it lives.

        Raises:
            google.protobuf.message.DecodeError: if the names of the properties cannot be read from
                ``raw``. What is malformed further down is found when it is read.
            TypeError: if ``raw`` is not bytes.
        """
        if not isinstance(raw, bytes):
            raise TypeError(
                "LazyEntity.from_bytes() takes bytes, the serialised entity, "
                f"not {describe_type(raw)}"
            )
        return cls._from_raw(raw)

    def __getattr__(self, name: str) -> Any:
        # Entity's attributes live in the instance dictionary only, so this is asked for them as
        # long as they are not there, and never again.
        read = _WIRE_ATTRIBUTES.get(name)
        if read is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self._instance_dict().setdefault(name, getattr(self, read)())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return NotImplemented
        # Most unequal entities differ in their keys. Entity compares these first, too.
        if isinstance(other, Entity) and self.key != other.key:
            return False
        # dict compares storage with storage, here and in the reflected comparison of a plain dict.
        self._decode_all()
        if isinstance(other, LazyEntityBase):
            other._decode_all()
        return Entity.__eq__(self, other)  # type: ignore[no-any-return]  # upstream is untyped

    __ne__ = Entity.__ne__
    __hash__ = None  # type: ignore[assignment]  # how Python spells "unhashable"

    def __repr__(self) -> str:
        self._decode_all()
        return Entity.__repr__(self)  # type: ignore[no-any-return]  # upstream is untyped

    def __reduce_ex__(self, protocol: Any) -> Any:
        # First, so that an entity that refuses to be read as a whole stays as it is.
        items = self.items()
        return Entity, (), vars(self), None, iter(items)

    # What the kinds of :func:`derived_type` do differently.

    def _read_on_request(self, name: str) -> Any:
        """Read a property for whoever says that it is to be decoded, or cannot do without."""
        return self[name]

    def _require_writable(self) -> None:
        """Raise RuntimeError if this entity must not be written."""

    def _empty_plain(self) -> Entity:
        """Make the entity that is to be filled with what is materialized of this one."""
        return Entity()


_WIRE_ATTRIBUTES = {
    "key": "_wire_key",
    "exclude_from_indexes": "_wire_excluded",
    "_meanings": "_wire_meanings",
}


def _complete_attributes(entity: LazyEntityBase) -> dict[str, Any]:
    """The instance dictionary, with what was not read from the bytes before."""
    for name in _WIRE_ATTRIBUTES:
        getattr(entity, name)
    return touched_attributes(entity)


def touched_attributes(entity: LazyEntityBase) -> dict[str, Any]:
    """Return the instance dictionary as it is: without what was never read from the bytes."""
    return entity._instance_dict()


class _InstanceDictOnDemand(LazyEntityBase):
    """For a mapping that makes the instance dictionary only when it is asked for."""

    __slots__ = ()

    # Not in the mapping: a type of C that does this may not be given to object.__setattr__().

    def __setattr__(self, name: str, value: Any) -> None:
        self._instance_dict()
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._instance_dict()
        super().__delattr__(name)


def _base_over(mapping: type) -> type[LazyEntityBase]:
    return _InstanceDictOnDemand if mapping._INSTANCE_DICT_ON_DEMAND else LazyEntityBase  # type: ignore[attr-defined]  # of every mapping


if TYPE_CHECKING:
    _Base = LazyEntityBase
else:
    _Base = _base_over(LazyMapping)


class LazyEntity(_Base, LazyMapping, Entity):
    """A :class:`google.cloud.datastore.Entity` that decodes a property when it is first read.

    It is what a patched or wrapped client returns; :meth:`from_bytes` makes one by hand. Called
    like ``Entity``, it makes an ordinary empty entity. Everything that a stock entity does, it does
    with the same result; the states of a property, and what decodes what, are told at
    :class:`~lazyentity.codec.pure.LazyMapping`. ``key``, ``exclude_from_indexes`` and ``_meanings``
    are read from the bytes on first access and are plain attributes from then on.

    Any number of threads may read the same entity; each property has one value object, whoever
    reads it first. Writing from several threads is as unsafe as with any other dict subclass.

    Copies and pickles are stock entities with everything decoded, so that they can be loaded where
    lazyentity is not installed.

    Args:
        key (google.cloud.datastore.Key | None): as for ``Entity``.
        exclude_from_indexes (tuple[str, ...]): as for ``Entity``.
    """

    __slots__ = ()
    # Here and not in the base: a class whose layout is a mapping's gets a __dict__ descriptor of
    # its own.
    __dict__ = property(_complete_attributes)


def lazy_entity_type(mapping: type) -> type[LazyEntity]:
    """Make a type like :class:`LazyEntity` over an implementation of the mapping.

    So that both can be had in one process; :class:`LazyEntity` is over the one that was chosen.

    Args:
        mapping: a lazy mapping, as :mod:`lazyentity._backend` describes it.
    """
    namespace = {"__slots__": (), "__dict__": property(_complete_attributes)}
    kind: type[LazyEntity] = type("LazyEntity", (_base_over(mapping), mapping, Entity), namespace)
    return kind


@functools.cache
def derived_type(behaviour: type[LazyEntityBase], kind: type[LazyEntityBase]) -> type[LazyEntity]:
    """Return the subclass of ``kind`` that differs in ``behaviour``; the same one each time.

    An entity of ``kind`` can be made one of the subclass, and back, by assigning its ``__class__``.

    Args:
        behaviour: a mixin without state.
        kind: the class of a lazy entity, itself not derived by this function.
    """
    namespace = {
        "__slots__": (),
        "__module__": behaviour.__module__,
        "__doc__": behaviour.__doc__,
        "_plain_type": kind,
    }
    return cast(type[LazyEntity], type(behaviour.__name__, (behaviour, kind), namespace))


def plain_type(entity: LazyEntityBase) -> type[LazyEntity]:
    """Return the class of ``entity``, without what :func:`derived_type` added."""
    kind = type(entity)
    return cast(type[LazyEntity], getattr(kind, "_plain_type", kind))
