"""The arguments of the public functions, by their class: checks, operations, iterators.

The functions of :mod:`lazyentity.operations`, :mod:`lazyentity.detached` and
:mod:`lazyentity.plain` are called with entities of any client that is patched. A class other than
``google.cloud.datastore.Entity`` registers its operations here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key

from lazyentity.codec.describing import describe_type, safe_repr

KeyForm: TypeAlias = Literal["key", "id", "path"]


Refuse: TypeAlias = Callable[[Any, str], None]
"""Called for each property that an entity lacks; it may raise."""


class Operations(Protocol):
    """The operations on entities of a class; a module will do.

    Each is as the public function of its name, for one entity.
    """

    def raw(self, entity: Any, /) -> bytes: ...  # as the public function
    def prefetch(self, entity: Any, /, *names: str) -> None: ...
    def decoded(self, entity: Any, /) -> Sequence[str]: ...
    def detach(self, entity: Any, partial: bool, /) -> Any: ...
    def materialize(self, entity: Any, /) -> Any: ...
    def to_dict(self, entity: Any, /, *names: str) -> dict[str, Any]: ...
    def key_as(self, entity: Any, form: KeyForm, /) -> Any: ...  # as the argument of columns()
    def values(self, entity: Any, names: Sequence[str], refuse: Refuse | None, /) -> list[Any]: ...


_OPERATIONS: dict[type, Operations] = {}


def register(kind: type, operations: Operations) -> None:
    """Have the public functions call these operations for the instances of a class."""
    _OPERATIONS[kind] = operations


def operations_of(entity: Any) -> Operations | None:
    """Return the operations on an entity; None, if none are registered for its class."""
    if not _OPERATIONS:
        return None
    for kind in type(entity).__mro__:
        if kind in _OPERATIONS:
            return _OPERATIONS[kind]
    return None


_GIVING_UNBOXED: list[tuple[type, Callable[[Any], Iterator[Any]]]] = []


def register_unboxed(kind: type, unboxed: Callable[[Any], Iterator[Any]]) -> None:
    """Have :func:`unboxed_of` call a function for the instances of a class.

    Args:
        kind: the class, without its subclasses.
        unboxed: returns an iterator over unboxed entities; some or all may be entities.
    """
    _GIVING_UNBOXED.append((kind, unboxed))


def unboxed_of(entities: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator over entities, some or all of which may be unboxed.

    Raises:
        Exception: as ``iter(entities)`` raises it.
    """
    for kind, unboxed in _GIVING_UNBOXED:
        if type(entities) is kind:
            return unboxed(entities)
    return iter(entities)


def values_of(
    entity: Any, names: Sequence[str], refuse: Refuse | None, to_dict: Callable[..., dict[str, Any]]
) -> list[Any]:
    """Return the values of properties by a ``to_dict()``, None where an entity has none."""
    present = [name for name in names if name in entity]
    if refuse is not None and len(present) < len(names):
        for name in names:
            if name not in present:
                refuse(entity, name)
    # Without a name, to_dict() would give all properties.
    found = to_dict(entity, *present) if present else {}
    return [found.get(name) for name in names]


def require_entity(function: str, given: object) -> None:
    """Check that the argument of a public function is an entity.

    Raises:
        TypeError: if it is not.
    """
    if not isinstance(given, Entity):
        raise TypeError(
            f"{function}() takes a google.cloud.datastore.Entity or a lazyentity.LazyEntity, "
            f"not {describe_type(given)}{hint_for(given)}"
        )


def hint_for(given: object) -> str:
    """Return what to do with a model, or the class of one; empty for other objects."""
    kind = given if isinstance(given, type) else type(given)
    if hasattr(kind, "_get_kind"):
        return "; lazyentity.patch() makes models lazy, and their attributes are read as ever"
    return ""


def require_names(function: str, names: Iterable[object]) -> None:
    """Check that names of properties, given one by one, are strings.

    Raises:
        TypeError: if one is not.
    """
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"{function}() takes names as single arguments, not {safe_repr(name)}; unpack a "
                "list: *names"
            )


def require_several(function: str, given: object, items: str = "entities") -> None:
    """Check that the argument of a public function is an iterable, no single entity and no text.

    An empty entity or text could be iterated, and would pass for an iterable of no entities.

    Args:
        function: its name.
        given: its argument.
        items: the name of the expected items, in the plural.

    Raises:
        TypeError: if it is an entity or text, or cannot be iterated.
    """
    if isinstance(given, Entity):
        raise TypeError(f"{function}() takes an iterable of {items}, not one; pass [entity]")
    _require_no_text(function, given, items)
    # Not by iter(), which starts the iterators of some clients.
    if not isinstance(given, Iterable) and not hasattr(type(given), "__getitem__"):
        hint = "; pass query.fetch()" if hasattr(given, "fetch") else hint_for(given)
        raise TypeError(
            f"{function}() takes an iterable of {items}, not {describe_type(given)}{hint}"
        )


def require_keys(function: str, given: object) -> None:
    """Check that the argument of a public function is neither a single key nor an entity or text.

    Raises:
        TypeError: if it is one.
    """
    if isinstance(given, Entity):
        raise TypeError(f"{function}() takes an iterable of keys, not an entity; pass [entity.key]")
    if isinstance(given, Key):
        raise TypeError(f"{function}() takes an iterable of keys, not one; pass [key]")
    _require_no_text(function, given, "keys")


def _require_no_text(function: str, given: object, items: str) -> None:
    if isinstance(given, str | bytes | bytearray):
        raise TypeError(f"{function}() takes an iterable of {items}, not {describe_type(given)}")
