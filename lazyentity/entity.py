"""The lazy entity."""

from __future__ import annotations

import copyreg
import functools
import importlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity._backend import LazyMapping, stock_from_raw
from lazyentity._mode import EAGER_MODE, is_switched_off
from lazyentity.codec.describing import describe_type
from lazyentity.profiling import observer
from lazyentity.profiling.uses import noting_uses

_Self = TypeVar("_Self", bound="LazyEntityBase")

_asks_for_stock: Final[Callable[[], bool]] = (lambda: True) if is_switched_off() else EAGER_MODE.get
"""Says whether the environment or ``eager()`` asks for stock entities."""

# Pickles of classes without a constructor name this function, in every protocol.
reconstruct: Any = copyreg._reconstructor  # type: ignore[attr-defined]  # typeshed leaves it out


if TYPE_CHECKING:

    class _MappingAndEntity(LazyMapping, Entity):
        """The other bases of every lazy entity, for type checkers."""

else:
    _MappingAndEntity = object


class WireAttribute:
    """An attribute of ``Entity`` that is read from the bytes on first access.

    After that, or once it was set, Python finds it in the instance dictionary without calling this
    descriptor.

    Args:
        read: name of the mapping's method that reads the attribute.
    """

    def __init__(self, read: str) -> None:
        self._read = read

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, entity: Any, owner: type) -> Any:
        if entity is None:
            # As of Entity.
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self._name!r}")
        attributes = entity._instance_dict()
        # Python did not find it there, but another thread may have set it since.
        if self._name in entity._deleted_attributes and self._name not in attributes:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self._name!r}")
        return attributes.setdefault(self._name, getattr(entity, self._read)())


class GetState:
    """``__getstate__`` of an instance returns ``__dict__``, which object's own bypasses.

    As object's own, it returns None in place of an empty dictionary.

    ``__getstate__`` of the class is object's, which tells libraries that it is the default one.
    """

    def __get__(self, entity: Any, owner: type) -> Any:
        return object.__getstate__ if entity is None else lambda: vars(entity) or None


class LazyEntityBase(_MappingAndEntity):
    """The part of a lazy entity that is the same over both implementations of the mapping."""

    __slots__ = ()

    @classmethod
    def from_bytes(cls: type[_Self], raw: bytes) -> _Self:
        """Make a lazy entity from a serialised ``google.datastore.v1.Entity`` message.

        Inside :func:`~lazyentity.eager`, and if the environment variable ``LAZYENTITY_DISABLE`` or
        ``LAZYENTITY_EAGER`` was set when this class was imported, the result is a stock entity.

        Args:
            raw: the message in protobuf's wire format. The entity keeps it as long as it lives.

        Raises:
            google.protobuf.message.DecodeError: if the names of the properties cannot be read from
                ``raw``. Other malformed parts raise when they are read. For a stock entity,
                everything is read here, and raises the errors of the client.
            TypeError: if ``raw`` is not bytes.
        """
        make = cls._from_raw
        if _asks_for_stock():
            make = stock_from_raw  # type: ignore[assignment]  # as eager reads
        try:
            return make(raw)
        except Exception:
            # Asked afterwards, which takes nothing from the usual call.
            if isinstance(raw, bytes):
                raise
        raise TypeError(
            f"LazyEntity.from_bytes() takes bytes, the serialised entity, not {describe_type(raw)}"
        )

    # On the class, because inspect.getattr_static() and with it runtime protocols look there.
    key = WireAttribute("_wire_key")
    exclude_from_indexes = WireAttribute("_wire_excluded")
    _meanings = WireAttribute("_wire_meanings")

    # Not in the mapping: object.__setattr__() refuses C types that define these.

    def __setattr__(self, name: str, value: Any) -> None:
        self._instance_dict()
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name not in _unread_attributes(self):
            super().__delattr__(name)
        if name in _WIRE_ATTRIBUTES:
            # Otherwise the attribute would be read from the bytes again.
            self._deleted_attributes |= {name}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return NotImplemented
        # Most unequal entities differ in their keys. Entity compares these first, too.
        if isinstance(other, Entity) and self.key != other.key:
            return False
        # dict compares storage with storage, here and in the reflected comparison of a plain dict.
        self._decode_all("==")
        if isinstance(other, LazyEntityBase):
            other._decode_all("==")
        return Entity.__eq__(self, other)  # type: ignore[no-any-return]  # upstream is untyped

    __ne__ = Entity.__ne__

    def __repr__(self) -> str:
        self._decode_all("repr()")
        return Entity.__repr__(self)  # type: ignore[no-any-return]  # upstream is untyped

    def __reduce_ex__(self, protocol: Any) -> Any:
        # First: an entity that refuses to be read as a whole stays as it is.
        self._decode_all("a copy or pickle")
        # Up to protocol 1, stock entities are pickled from a copy, then from the entity itself.
        storage = self if protocol >= 2 else self._storage()
        # Not by the constructor: a deleted attribute stays deleted, as in stock entities.
        return reconstruct, (Entity, dict, {}), vars(self), None, iter(dict.items(storage))

    __getstate__ = GetState()

    # Hooks that the classes of :func:`derived_type` override.

    def _require_writable(self) -> None:
        """Raise RuntimeError if this entity must not be written."""

    def _empty_plain(self) -> Entity:
        """Make the empty entity that ``materialize()`` fills."""
        return Entity()


# In the order in which Entity sets them.
_WIRE_ATTRIBUTES = tuple(
    name for name, value in vars(LazyEntityBase).items() if isinstance(value, WireAttribute)
)
_ALL_WIRE_ATTRIBUTES = frozenset(_WIRE_ATTRIBUTES)

# Python sets it to None in a class that defines __eq__. The one of Entity, which an application can
# set, is to be inherited.
del LazyEntityBase.__hash__


def _unread_attributes(entity: LazyEntityBase) -> list[str]:
    """Return the attributes that are still to be read from the bytes."""
    attributes, deleted = touched_attributes(entity), entity._deleted_attributes
    return [name for name in _WIRE_ATTRIBUTES if name not in attributes and name not in deleted]


def _complete_attributes(entity: LazyEntityBase) -> dict[str, Any]:
    """Return the instance dictionary after reading the missing attributes from the bytes."""
    for name in _unread_attributes(entity):
        getattr(entity, name)
    # The caller gets the dictionary itself: an attribute that is deleted in it stays deleted.
    entity._deleted_attributes = _ALL_WIRE_ATTRIBUTES
    return touched_attributes(entity)


def _replace_attributes(entity: LazyEntityBase, attributes: Any) -> None:
    if not isinstance(attributes, dict):
        raise TypeError(
            f"__dict__ must be set to a dictionary, not a '{type(attributes).__name__}'"
        )
    entity._replace_instance_dict(attributes)
    entity._deleted_attributes = _ALL_WIRE_ATTRIBUTES


def _delete_attributes(entity: LazyEntityBase) -> None:
    _replace_attributes(entity, {})


_attributes = property(_complete_attributes, _replace_attributes, _delete_attributes)


def touched_attributes(entity: LazyEntityBase) -> dict[str, Any]:
    """Return the instance dictionary as it is, without attributes that are still unread."""
    return entity._instance_dict()


class LazyEntity(LazyEntityBase, LazyMapping, Entity):
    """A :class:`google.cloud.datastore.Entity` that decodes a property when it is first read.

    >>> import lazyentity
    >>> made = lazyentity.LazyEntity()
    >>> made.update(amount=12.5, note="call first")
    >>> order = lazyentity.LazyEntity.from_bytes(lazyentity.raw(made))
    >>> order["amount"]
    12.5
    >>> lazyentity.decoded(order)
    ('amount',)

    A patched or wrapped client returns lazy entities; :meth:`from_bytes` makes one from bytes.
    Called like ``Entity``, the class makes an ordinary empty entity. Every operation gives the same
    result as with a stock entity. :class:`~lazyentity._backend.protocols.LazyMapping` says which
    operation decodes which properties. The attributes ``key``, ``exclude_from_indexes`` and
    ``_meanings`` are read from the bytes on first access, and are plain attributes from then on.

    Any number of threads may read the same entity, and all get the same value object of a property.
    Writing from several threads is as unsafe as with any other dict subclass.

    Copies and pickles are stock entities with everything decoded, so that a pickle can be loaded
    where lazyentity is not installed.

    Args:
        key (google.cloud.datastore.Key | None): as for ``Entity``.
        exclude_from_indexes (tuple[str, ...]): as for ``Entity``.
    """

    __slots__ = ()
    # Here and not in the base: a class with a mapping as its base gets another __dict__ descriptor.
    __dict__ = _attributes

    if TYPE_CHECKING:
        # Python finds that of Entity, after a __new__ of the mapping that takes everything.
        def __init__(
            self, key: Key | None = None, exclude_from_indexes: Iterable[str] = ()
        ) -> None: ...


def lazy_entity_type(mapping: type) -> type[LazyEntity]:
    """Make a type like :class:`LazyEntity` over an implementation of the mapping.

    So both backends can be in one process; :class:`LazyEntity` is over the chosen one.

    Args:
        mapping: a lazy mapping, as :mod:`lazyentity._backend` describes it.
    """
    namespace = {"__slots__": (), "__dict__": _attributes}
    kind: type[LazyEntity] = type("LazyEntity", (LazyEntityBase, mapping, Entity), namespace)
    return kind


@functools.cache
def derived_type(behaviour: type, kind: type[LazyEntityBase]) -> type[LazyEntity]:
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
    """Return the class of ``entity`` before :func:`derived_type`."""
    kind = type(entity)
    return cast(type[LazyEntity], getattr(kind, "_plain_type", kind))


observer.listen(noting_uses(LazyEntityBase))

# Without the adapters, C code sees the sentinels of a lazy object. If the environment asks for
# stock entities, only patched and wrapped clients make lazy ones: patch() and wrap() install them.
if not is_switched_off():
    importlib.import_module("lazyentity.patches.adapters").install()
