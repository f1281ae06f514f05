"""Decoding lazy entities in place, wherever they are inside a value.

C code that reads the storage of dicts, and never calls a method of the entity, needs this. Nothing
is copied: the entities end in the state that reading every property gives.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import functools
import itertools
import types
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from lazyentity._choice import without_client
from lazyentity._classes import Slot, forgetting, kept_of_classes
from lazyentity._inplace import SLOTS
from lazyentity._items import decode_items
from lazyentity.codec.iterators import (
    CONTAINERS,
    ITERATORS,
    ITERATORS_OF_CODE,
    ITERATORS_OF_CONTAINERS,
    children_of_iterator,
)
from lazyentity.codec.undecoded import UndecodedType
from lazyentity.pure.search import children_in, instance_dict

type_version: Callable[[type], int] = without_client("types").type_version

LEAVES = {
    str,
    int,
    float,
    bool,
    bytes,
    bytearray,
    complex,
    type(None),
    datetime.date,
    datetime.datetime,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    UndecodedType,
    types.BuiltinFunctionType,
    types.FunctionType,
    types.MethodType,
    types.ModuleType,
    type,
}
"""Exact types of values that hold no entity; importing the client adds its types."""

_SEQUENCES: tuple[type, ...] = (
    list,
    tuple,
    set,
    frozenset,
    deque,
    type({}.values()),
    type({}.items()),
)
_RECORD_MARKS = (
    "__dataclass_fields__",
    "__pydantic_fields_set__",
    "__attrs_attrs__",
    "__struct_fields__",
)


def decode_in_place(value: Any, *, validating: bool = False) -> bool:
    """Decode every lazy entity in ``value``, and everything inside these, in place.

    Entities are looked for in:

    - lists, tuples, sets, deques, dicts and the views of dicts, and in subclasses of all these;
    - read-only views of dicts (``types.MappingProxyType``);
    - the fields of dataclasses, pydantic models, attrs classes and msgspec structs;
    - the attributes of other objects, down to three objects inside each other. An attribute whose
      name begins with an underscore counts only if its value is a list, tuple, set or dict. A class
      attribute counts only if its value is an entity;
    - the containers that generators and other iterators of Python's take their items from;
    - the contents that a function registered with :func:`children_of` returns.

    Cycles are allowed.

    Args:
        value: any value.
        validating: whether pydantic is about to validate ``value``: pydantic models inside pydantic
            models are skipped, because pydantic takes them for valid. Models of a class with
            ``revalidate_instances`` are not skipped.

    Returns:
        Whether there is a lazy entity in ``value``, decoded by this call or before, perhaps by
        another thread.

    Raises:
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        RuntimeError: if a property was not prefetched, and reading it is refused: see ``wrap()``.
    """
    return _decode(value, validating)


def decode_attributes(value: Any, names: Collection[str] | None = None) -> None:
    """Decode the entities that an object's attributes are or contain, but not those inside objects.

    Args:
        value: an object or a pydantic model; containers of Python's are left alone.
        names: of the attributes that will be read, which are stored; None, if any may be.

    Raises:
        As :func:`decode_in_place`.
    """
    _decode(list(_children_of(value) if names is None else _stored(value, names)), True, 0)


def are_stored(kind: Any, names: Iterable[str]) -> bool:
    """Say whether reading an attribute of these names from an instance of ``kind`` runs no code."""
    if kind.__getattribute__ is not object.__getattribute__ or hasattr(kind, "__getattr__"):
        return False
    try:
        if children_of.dispatch(kind) is not children_of.registry[object]:
            return False
    except TypeError:
        # Its metaclass makes classes that have no hash.
        return False
    of_class = (type(_of_class(kind, name)) for name in names)
    return all(
        each is types.MemberDescriptorType or not hasattr(each, "__get__") for each in of_class
    )


def _of_class(kind: Any, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)


def _stored(value: Any, names: Iterable[str]) -> Iterator[Any]:
    own = instance_dict(value)
    for name in names:
        of_class = _of_class(type(value), name)
        if type(of_class) is types.MemberDescriptorType:
            yield from children_in((of_class,), value)
        else:
            yield own.get(name, of_class)


def decoded_in_place(value: Any, *, validating: bool = False) -> Any:
    """Return ``value`` after :func:`decode_in_place`; an iterator decodes item by item.

    With the native backend that is ``value`` itself. With the pure one it is another iterator,
    unless ``value`` is an iterator of a container that holds nothing but :data:`LEAVES`.
    """
    kind = type(value)
    # Other metaclasses may make classes that have no hash.
    if type(kind) is not type or kind not in ITERATORS or _decodes_items(value):
        decode_in_place(value, validating=validating)
        return value
    if kind is types.GeneratorType:
        # Still a generator: some consumers tell generators from other iterators.
        return _relayed(value, validating)
    if kind in ITERATORS_OF_CONTAINERS and all(map(_holds_leaves, children_of_iterator(value))):
        return value
    return map(functools.partial(decoded_in_place, validating=validating), value)


def _decodes_items(iterator: Any) -> bool:
    """Say whether an iterator will decode its items, when it was looked into."""
    if type(iterator) in ITERATORS_OF_CODE:
        return decode_items(iterator, decode_in_place)
    return SLOTS


def _holds_leaves(container: Any) -> bool:
    # A subclass, a lazy entity for one, may iterate over anything.
    if type(container) not in CONTAINERS:
        return False
    items = container.values() if type(container) is dict else container
    return all(map(is_plain, list(items)))


def _relayed(generator: Any, validating: bool) -> Any:
    """Work like ``yield from generator``, but decode each item."""
    advance = functools.partial(next, generator)
    while True:
        try:
            item = advance()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield decoded_in_place(item, validating=validating)
        except GeneratorExit:
            generator.close()
            raise
        except BaseException as error:  # noqa: BLE001  # thrown into the generator
            advance = functools.partial(generator.throw, error)
        else:
            advance = functools.partial(generator.send, sent)


@kept_of_classes
def is_taken_for_valid(kind: Any) -> bool:
    """Say whether pydantic validates no instance of this model class again; False for others."""
    if not hasattr(kind, "__pydantic_fields_set__"):
        return False
    # For an instance of a subclass, the class that the field names decides.
    configs = [vars(base).get("model_config") or {} for base in kind.__mro__]
    return all(config.get("revalidate_instances", "never") == "never" for config in configs)


def _items_of(value: Any) -> list[Any] | None:
    """Return the items of a container that is no dict; None if ``value`` is not one.

    Items are read from storage: a class's own ``__iter__`` may do anything.
    """
    base = _sequence_of(type(value))
    return None if base is None else _copied(base, value)


@kept_of_classes
def _sequence_of(kind: Any) -> type | None:
    return next((base for base in _SEQUENCES if issubclass(kind, base)), None)


def _copied(base: Any, value: Any) -> list[Any]:
    """Return the items of a container as they are at one moment.

    Raises:
        RuntimeError: if it changes whenever it is copied.
    """
    for _ in range(1000):
        with contextlib.suppress(RuntimeError):
            # One call of C code: where there is a global lock, no other thread runs between making
            # the iterator and its end. A finalizer may run.
            return list(itertools.chain.from_iterable(map(base.__iter__, (value,))))
    raise RuntimeError("a container changed while it was searched for entities")


@kept_of_classes
def _record_slots(kind: Any) -> tuple[Any, ...] | None:
    """Return readers of the slots of a record class; None if ``kind`` is not one."""
    try:
        if not any(hasattr(kind, mark) for mark in _RECORD_MARKS):
            return None
    except Exception:  # noqa: BLE001  # a metaclass may refuse
        return None
    slots = {slot.name: slot for slot in _slots(kind)}
    if "__pydantic_extra__" in slots:
        extra = slots["__pydantic_extra__"]
        # pydantic validates and serialises no other slots of a model.
        if getattr(kind, "__private_attributes__", None):
            return extra, _PrivateContainers(slots["__pydantic_private__"])
        return (extra,)
    return tuple(slots.values())


class _PrivateContainers:
    """Reads, like a slot, the private attributes of a model that computed fields can return."""

    def __init__(self, slot: Any) -> None:
        self._slot = slot

    def __get__(self, model: Any, kind: Any = None) -> list[Any]:
        private = self._slot.__get__(model) or {}
        # Containers only, as of other private attributes: an object can lead anywhere.
        return [held for held in list(private.values()) if issubclass(type(held), CONTAINERS)]


@kept_of_classes
def _slots(kind: Any) -> tuple[Slot, ...]:
    return tuple(
        Slot(base, name)
        for base in kind.__mro__
        for name, member in list(vars(base).items())
        if type(member) is types.MemberDescriptorType
    )


@functools.singledispatch
def children_of(value: Any) -> Iterable[Any]:
    """Return the contents of ``value``, which is neither a container of Python's nor a record.

    Register a function for each class of such objects.
    """
    kind: Any = type(value)
    if issubclass(kind, _OPAQUE):
        return ()
    attributes = list(instance_dict(value).items())
    for slot in _slots(kind):
        attributes += [(slot.name, held) for held in children_in((slot,), value)]
    return [
        held
        for name, held in attributes
        # A private attribute can lead to the whole application.
        if not name.startswith("_") or issubclass(type(held), CONTAINERS)
    ] + [held for _, held in _entities_of_class(kind)]


_without_entities: dict[int, Any] = {}
"""By the id of a class: a weak reference, and the version of the class as it had no entity."""


def _entities_of_class(kind: Any) -> Iterable[tuple[str, Any]]:
    """Return the names and values of the entities among the attributes of a class."""
    version = type_version(kind)
    known = _without_entities.get(id(kind))
    if known is not None and known[1] == version != 0:
        return ()
    found = [
        (name, held)
        for base in kind.__mro__
        for name, held in list(vars(base).items())
        # Other attributes of a class are not data of its instances.
        if hasattr(type(held), "_decode_all")
    ]
    if not found and version:
        _without_entities[id(kind)] = forgetting(kind, _without_entities), version
    return found


def _children_of(value: Any) -> Iterable[Any]:
    # Dispatched by the type: an object may pass for one of another class.
    try:
        try:
            held = children_of.dispatch(type(value))
        except TypeError:
            # Its class has no hash.
            held = children_of.registry[object]
        return list(held(value))
    except Exception:  # noqa: BLE001  # an object that cannot be searched has nothing to decode
        return ()


@children_of.register
def _children_of_proxy(proxy: types.MappingProxyType) -> Iterable[Any]:  # type: ignore[type-arg]  # singledispatch takes a class
    return list(proxy.values())


def _decoding_later(iterator: Any) -> Iterable[Any]:
    decode_items(iterator, decode_in_place)
    return children_of_iterator(iterator)


for _kind in ITERATORS:
    children_of.register(
        _kind, _decoding_later if _kind in ITERATORS_OF_CODE else children_of_iterator
    )

_OPAQUE = (
    *(kind for kind in LEAVES if kind is not type(None)),
    types.CodeType,
    types.FrameType,
    types.TracebackType,
)


def _finder() -> Any:
    # Not that of lazyentity._backend, which imports the client: the values searched here need not
    # come from it.
    return _finder_of(without_client("search").EntityFinder)


def _finder_of(kind: Any) -> Any:
    return kind(LEAVES, _record_slots, is_taken_for_valid, _items_of, _children_of, forgetting)


_chosen = _finder()
_decode: Callable[..., bool] = _chosen.decode

is_plain: Callable[[Any], bool] = _chosen.is_plain
"""Say whether a value, or each value of a dict, is of :data:`LEAVES`. For the common case."""
