"""Decoding lazy entities in place, wherever they are inside a value.

For C code, which reads the storage of dicts and never calls a method of the entity. Nothing is
copied: the entities end in the state that reading every property gives.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import functools
import importlib
import itertools
import os
import types
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lazyentity.codec.undecoded import UndecodedType

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
"""Exact types of values that hold no entity; those of the client are added with it."""

_SEQUENCES: tuple[type, ...] = (
    list,
    tuple,
    set,
    frozenset,
    deque,
    type({}.values()),
    type({}.items()),
)
_BUILTIN_ITERATORS = frozenset(
    (
        map,
        filter,
        zip,
        enumerate,
        reversed,
        type(iter([])),
        type(iter(())),
        type(iter({}.values())),
        itertools.chain,
        itertools.islice,
    )
)
_RECORD_MARKS = (
    "__dataclass_fields__",
    "__pydantic_fields_set__",
    "__attrs_attrs__",
    "__struct_fields__",
)
_LEVELS = 3

_stored_values = dict.values


def decode_in_place(value: Any, *, validating: bool = False) -> bool:
    """Decode every lazy entity in ``value``, and everything inside these, in place.

    Entities are looked for in:

    - lists, tuples, sets, deques, dicts and the views of dicts, and in subclasses of all these;
    - read-only views of dicts (``types.MappingProxyType``);
    - the fields of dataclasses, pydantic models, attrs classes and msgspec structs;
    - the attributes of other objects, down to three objects inside each other. An attribute whose
      name begins with an underscore counts only if its value is a list, tuple, set or dict;
    - the contents that a function registered with :func:`held_by` returns.

    Cycles are allowed.

    Args:
        value: any value.
        validating: whether pydantic is about to validate ``value``: pydantic models inside pydantic
            models are skipped, because pydantic takes them for valid.

    Returns:
        Whether there is a lazy entity in ``value``, decoded by this call or before, perhaps by
        another thread.

    Raises:
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        RuntimeError: if a property was not prefetched, and reading it is refused: see ``wrap()``.
    """
    return _decode(value, validating)


def decoded_in_place(value: Any, *, validating: bool = False) -> Any:
    """Return ``value`` after :func:`decode_in_place`; an iterator decodes item by item."""
    kind = type(value)
    if kind is types.GeneratorType:
        # Still a generator, for consumers that tell them from other iterators.
        return _relayed(value, validating)
    if kind in _BUILTIN_ITERATORS:
        return map(functools.partial(decoded_in_place, validating=validating), value)
    decode_in_place(value, validating=validating)
    return value


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


class _Walk:
    """As the native backend's ``Walk``."""

    def is_plain(self, value: Any) -> bool:
        """As :func:`is_plain`."""
        if type(value) is dict:
            return all(type(held) in LEAVES for held in list(value.values()))
        return type(value) in LEAVES

    def decode(self, value: Any, validating: bool = False) -> bool:
        """As :func:`decode_in_place`."""
        if type(value) in LEAVES:
            return False
        found = False
        # With the objects themselves: the id of one that is gone can become that of another.
        seen: dict[int, Any] = {}
        stack = [value]
        for level in range(_LEVELS + 1):
            objects: list[Any] = []
            models: list[Any] | None = [] if validating else None
            found |= _decode_containers(stack, objects, seen, models)
            if models:
                # Once: the fields of models are searched, models inside models are not.
                stack = [held for model in models for held in _fields(model)]
                found |= _decode_containers(stack, objects, seen, [])
            if not objects or level == _LEVELS:
                break
            stack = [held for each in objects for held in _held_by(each)]
        return found


def _decode_containers(
    stack: list[Any], objects: list[Any], seen: dict[int, Any], models: list[Any] | None
) -> bool:
    """Empty ``stack``; objects in it whose attributes are to be searched go to ``objects``.

    Pydantic models go to ``models``; if that is None, they are searched like other records.
    """
    found = False
    while stack:
        value: Any = stack.pop()
        kind: Any = type(value)
        if kind in LEAVES:
            continue
        # Other threads may change a container meanwhile: lists allow that, others are copied.
        if kind is dict:
            held = [item for item in list(value.values()) if type(item) not in LEAVES]
        elif kind is list or kind is tuple:
            held = [item for item in value if type(item) not in LEAVES]
        # By the type: an object may pass for one of another class.
        elif issubclass(kind, dict):
            found |= _decode_entity(value)
            held = [item for item in list(_stored_values(value)) if type(item) not in LEAVES]
        elif _record_slots(kind) is not None:
            if models is not None and _is_model(kind):
                if id(value) not in seen:
                    seen[id(value)] = value
                    models.append(value)
                continue
            held = _fields(value)
        elif (items := _items_of(value)) is not None:
            held = [item for item in items if type(item) not in LEAVES]
        else:
            if id(value) not in seen:
                seen[id(value)] = value
                objects.append(value)
            continue
        if held and id(value) not in seen:
            seen[id(value)] = value
            stack += held
    return found


def _fields(record: Any) -> list[Any]:
    kind: Any = type(record)
    slots = _record_slots(kind) or ()
    return [*_instance_dict(record).values(), *_held_in(slots, record)]


@functools.lru_cache(maxsize=1024)
def _is_model(kind: Any) -> bool:
    return hasattr(kind, "__pydantic_fields_set__")


def _decode_entity(value: Any) -> bool:
    if not hasattr(type(value), "_decode_all"):
        return False
    if value._undecoded():
        value._decode_all("code that reads storage")
    return True


def _items_of(value: Any) -> list[Any] | None:
    """Return the items of a container that is no dict; None if ``value`` is not one.

    Those in its storage: a class's own ``__iter__`` may do anything.
    """
    kind = type(value)
    for base in _SEQUENCES:
        if issubclass(kind, base):
            # A copy, because other threads may change the container.
            return list(base.__iter__(value))  # type: ignore[attr-defined]  # each of them has it
    return None


def _instance_dict(value: Any) -> dict[str, Any]:
    try:
        return dict(object.__getattribute__(value, "__dict__"))
    except Exception:  # noqa: BLE001  # a class may say anything of its instances' attributes
        return {}


@functools.lru_cache(maxsize=1024)
def _record_slots(kind: Any) -> tuple[Any, ...] | None:
    """Return the descriptors of the slots of a record class; None if ``kind`` is not one."""
    try:
        if not any(hasattr(kind, mark) for mark in _RECORD_MARKS):
            return None
    except Exception:  # noqa: BLE001  # a metaclass may refuse
        return None
    slots = dict(_slots(kind))
    if "__pydantic_extra__" in slots:
        # pydantic validates and serialises no other slots of a model.
        return (slots["__pydantic_extra__"],)
    return tuple(slots.values())


@functools.lru_cache(maxsize=1024)
def _slots(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(
        (name, member)
        for base in kind.__mro__
        for name, member in vars(base).items()
        if type(member) is types.MemberDescriptorType
    )


def _held_in(slots: Iterable[Any], value: Any) -> Iterator[Any]:
    for slot in slots:
        try:
            yield slot.__get__(value)
        except AttributeError:
            # It was not assigned.
            continue


@functools.singledispatch
def held_by(value: Any) -> Iterable[Any]:
    """Return the contents of ``value``, which is neither a container of Python's nor a record.

    Register a function for each class of such objects.
    """
    kind: Any = type(value)
    if issubclass(kind, _OPAQUE):
        return ()
    attributes = list(_instance_dict(value).items())
    for name, slot in _slots(kind):
        attributes += [(name, held) for held in _held_in((slot,), value)]
    return [
        held
        for name, held in attributes
        # A private attribute can lead to the whole application.
        if not name.startswith("_") or issubclass(type(held), _CONTAINERS)
    ]


def _held_by(value: Any) -> Iterable[Any]:
    # Dispatched by the type: an object may pass for one of another class.
    try:
        return list(held_by.dispatch(type(value))(value))
    except Exception:  # noqa: BLE001  # an object that cannot be searched has nothing to decode
        return ()


@held_by.register
def _held_by_proxy(proxy: types.MappingProxyType) -> Iterable[Any]:  # type: ignore[type-arg]  # singledispatch takes a class
    return list(proxy.values())


_OPAQUE = (
    *(kind for kind in LEAVES if kind is not type(None)),
    types.CodeType,
    types.FrameType,
    types.TracebackType,
)
_CONTAINERS = (dict, list, tuple, set, frozenset, deque)


def _walk() -> Any:
    # Not by lazyentity's choice of a backend, which imports the client: the values searched here
    # need not come from it.
    if os.environ.get("LAZYENTITY_BACKEND") != "pure":
        with contextlib.suppress(ImportError):
            native = importlib.import_module("lazyentity.native.decoding")
            return native.Walk(LEAVES, _record_slots, _is_model, _items_of, _held_by, _LEVELS)
    return _Walk()


_chosen = _walk()
_decode: Callable[..., bool] = _chosen.decode

is_plain: Callable[[Any], bool] = _chosen.is_plain
"""Say whether a value, or each value of a dict, is of :data:`LEAVES`. For the common case."""
