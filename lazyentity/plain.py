"""Conversion of lazy entities to stock entities and plain dicts."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Set
from typing import Any

from google.cloud.datastore.entity import Entity

from lazyentity._dispatch import operations_of, require_entity, require_names
from lazyentity.codec import errors
from lazyentity.codec.describing import describe_entity
from lazyentity.codec.encodable import changes_of
from lazyentity.codec.undecoded import holds_undecoded
from lazyentity.entity import LazyEntityBase, touched_attributes
from lazyentity.profiling import observer


def materialize(entity: Entity) -> Entity:
    """Return a plain stock entity with everything decoded.

    >>> import lazyentity
    >>> made = lazyentity.LazyEntity()
    >>> made.update(amount=12.5, note="call first")
    >>> order = lazyentity.LazyEntity.from_bytes(lazyentity.raw(made))
    >>> type(lazyentity.materialize(order))
    <class 'google.cloud.datastore.entity.Entity'>

    Args:
        entity: a lazy entity; a stock one is returned as it is.

    Returns:
        google.cloud.datastore.Entity: equal to ``entity``, with the properties in the same order.
        Entities inside its lists, dicts and embedded entities are plain as well. Containers are
        new; other values that were read or assigned before are shared. If ``entity`` is detached
        and cannot be written, neither can the result: see :func:`detach`.

    Raises:
        TypeError: if ``entity`` is not an entity.
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        RuntimeError: if a property was not prefetched, and reading it is refused: see :func:`wrap`.
    """
    if isinstance(entity, LazyEntityBase):
        return _stock(entity)
    own = operations_of(entity)
    if own is not None:
        return own.materialize(entity)  # type: ignore[no-any-return]  # of that client's class
    require_entity("materialize", entity)
    return entity


def to_dict(entity: Entity, *names: str) -> dict[str, Any]:
    """Return properties of an entity as a plain dict, with plain dicts and lists inside.

    >>> import lazyentity
    >>> made = lazyentity.LazyEntity()
    >>> made.update(amount=12.5, note="call first")
    >>> order = lazyentity.LazyEntity.from_bytes(lazyentity.raw(made))
    >>> lazyentity.to_dict(order, "amount")
    {'amount': 12.5}

    Properties that were not read are decoded for the result only: the entity does not change.

    Args:
        entity: a lazy or a stock entity.
        names: the properties, in the order of the result. If there are none, all properties.

    Returns:
        Embedded entities and dicts become new dicts, and arrays new lists. All other values, keys
        among them, are those of the properties. The key of the entity is left out.

    Raises:
        TypeError: if ``entity`` is not an entity, or if code that bypasses dict methods put an
            undecoded property of another entity into it.
        KeyError: if the entity lacks one of the named properties.
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        RuntimeError: if a property was not prefetched, and reading it is refused: see :func:`wrap`.
    """
    try:
        if isinstance(entity, LazyEntityBase):
            return entity._plain_values(names, plain_copy)
        own = operations_of(entity)
        return _plain_values(entity, names) if own is None else own.to_dict(entity, *names)
    except TypeError:
        # A list in place of names has no hash.
        require_names("to_dict", names)
        raise


def _plain_values(entity: Entity, names: tuple[str, ...]) -> dict[str, Any]:
    require_entity("to_dict", entity)
    plain = {}
    # The items are listed first: values are copied by code that may change the entity.
    items = [(name, entity[name]) for name in names] if names else list(entity.items())
    for name, value in items:
        if holds_undecoded(value):
            raise errors.undecoded_value(name, describe_entity(lambda: entity.key))
        plain[name] = plain_copy(value)
    return plain


def plain_copy(value: Any) -> Any:
    """Return a value of a property with plain dicts and lists, all of them new.

    Raises:
        As :func:`to_dict`, for the entities in it.
    """
    if isinstance(value, LazyEntityBase):
        return value._plain_values((), plain_copy)
    if isinstance(value, dict):
        # A copy, for the dict may change while its values are copied.
        return {name: plain_copy(item) for name, item in list(value.items())}
    if isinstance(value, list):
        return [plain_copy(item) for item in value]
    return value


def _stock(entity: Any) -> Entity:
    counts: Any = None if observer.data is None else entity._entity_counts
    undecoded = [] if counts is None else entity._undecoded()
    # A deleted attribute must not come from the bytes again.
    deleted = entity._deleted_attributes
    is_complete = not deleted or deleted <= touched_attributes(entity).keys()
    plain = entity._wire_entity() if is_complete else None
    if plain is None:
        # Decodes in place, which counts itself.
        return _read_stock(entity)
    # Attributes first: a thread that sets the meanings has decoded their properties by then.
    attributes = dict(touched_attributes(entity))
    touched, _, deleted, _ = entity._changes()
    if touched or deleted or attributes:
        _take_over(plain, entity, attributes)
    if undecoded:
        counts.decode(undecoded, "materialize()")
    return plain  # type: ignore[no-any-return]  # of the backend's


def _take_over(plain: Any, entity: Any, attributes: Any) -> None:
    """Give ``plain``, made from the bytes of a lazy entity, the changes of that entity.

    Args:
        plain: the stock entity.
        entity: the lazy entity, which may change meanwhile.
        attributes: a copy of its instance dictionary, made before.

    Raises:
        TypeError: if code that bypasses the methods put the sentinel in place of a value.
    """
    stored = entity._storage()
    touched = changes_of(stored, entity._shape.ordinals, entity)[0]
    copies = {name: stock_value(value, _stock) for name, value in touched.items()}
    known: Iterable[str] = touched
    if list(stored) == list(plain):
        dict.update(plain, copies)
    else:
        values = {name: copies[name] if name in copies else plain[name] for name in stored}
        known = [name for name in plain if name in copies or name not in values]
        dict.clear(plain)
        dict.update(plain, values)
    excluded = plain.exclude_from_indexes | entity._wire_excluded(known)
    meanings = plain._meanings
    read_meanings = attributes.get("_meanings")
    if read_meanings is None:
        read_meanings = entity._wire_meanings(known)
    plain.__dict__.update(attributes)
    plain.exclude_from_indexes = copied_flags(attributes.get("exclude_from_indexes", excluded))
    if "_meanings" in attributes:
        # All properties that have one were decoded for these.
        meanings = {}
    plain._meanings = meanings | _meanings_of_copies(read_meanings, touched, plain, _stock)


def _read_stock(entity: Any) -> Entity:
    # Embedded entities are read too, without another try from their bytes: if a value deep
    # inside fails, each level would try again.
    return _copy(entity, _read_stock)


def _copy(entity: Any, to_stock: Callable[[Any], Entity]) -> Entity:
    if isinstance(entity, LazyEntityBase):
        entity._decode_all("materialize()")
    values = dict(dict.items(entity))
    plain: Any = entity._empty_plain() if isinstance(entity, LazyEntityBase) else Entity()
    plain.update({name: stock_value(value, to_stock) for name, value in values.items()})
    attributes = dict(vars(entity))
    plain.__dict__.update(attributes)
    if "exclude_from_indexes" in attributes:
        plain.exclude_from_indexes = copied_flags(attributes["exclude_from_indexes"])
    if "_meanings" in attributes:
        plain._meanings = _meanings_of_copies(attributes["_meanings"], values, plain, to_stock)
    for name in vars(plain).keys() - attributes.keys():
        delattr(plain, name)
    return plain  # type: ignore[no-any-return]  # upstream is untyped


def copied_flags(flags: Any) -> Any:
    """Return a copy of ``exclude_from_indexes``, which an application can set to any container."""
    if type(flags) is set or (isinstance(flags, Set) and not isinstance(flags, set)):
        return set(flags)
    # The client looks for names in it: a string has them in its text, and a subclass of set can
    # have its own way to find them.
    try:
        return copy.copy(flags)
    except TypeError:
        # Generators and views cannot be copied.
        return set(flags) if isinstance(flags, set) else flags


def _meanings_of_copies(
    meanings: Any, values: Any, copies: Any, to_stock: Callable[[Any], Entity]
) -> dict[str, Any]:
    # The client writes a meaning back only with the very object it was read with.
    return {
        name: (
            meaning,
            copies[name]
            if name in values and original is values[name]
            else stock_value(original, to_stock),
        )
        for name, (meaning, original) in list(meanings.items())
    }


def stock_value(value: Any, to_stock: Callable[[Any], Entity]) -> Any:
    """Return a value with new lists, dicts and entities.

    Args:
        value: of a property.
        to_stock: makes the entity in the place of a lazy one.
    """
    if isinstance(value, LazyEntityBase):
        return to_stock(value)
    if type(value) is Entity:
        return _copy(value, to_stock)
    if type(value) is list:
        return [stock_value(item, to_stock) for item in value]
    if type(value) is dict:
        # A copy, for the dict may change while its values are copied.
        return {name: stock_value(item, to_stock) for name, item in dict(value).items()}
    return value
