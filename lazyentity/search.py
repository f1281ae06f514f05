"""Finding lazy entities in values, and decoding them in place, for C code that reads dict storage.

Nothing is copied: the entities end in the state that reading every property gives. The native
backend has a faster walk, which leaves deep, cyclic and very large values to the one here.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from lazyentity.profiling.observer import STORAGE

_Contents = Callable[[Any], Iterable[Any]]

CONTENTS: dict[type, _Contents] = {}
"""Functions that return the contents of instances of a class, and of its subclasses.

The adapters register the classes of libraries that hold values in C.
"""

_RECORD_MARKS = ("__dataclass_fields__", "__pydantic_fields_set__", "__struct_fields__")
_SCALARS = frozenset((str, int, float, bool, bytes, type(None)))


def fields_of(kind: Any) -> tuple[Any, ...] | _Contents | None:
    """Return how instances of a class, which is no dict, list or tuple, are looked into.

    Returns:
        For records, which are dataclasses, pydantic models and msgspec structs, the descriptors of
        their slots; a record may have a ``__dict__``, too. A function that takes an instance, if
        :data:`CONTENTS` has one. None for all other classes: their attributes are not looked at.
    """
    # vars() and hasattr() would run code of a metaclass.
    bases = type.__dict__["__mro__"].__get__(kind)
    for base in bases:
        if type(base) is type and base in CONTENTS:
            return CONTENTS[base]
    namespaces = [type.__dict__["__dict__"].__get__(base) for base in bases]
    if not any(mark in namespace for namespace in namespaces for mark in _RECORD_MARKS):
        return None
    slots = {
        name: member
        for namespace in namespaces
        for name, member in list(namespace.items())
        # Another class's descriptor reads at an offset of that class.
        if type(member) is types.MemberDescriptorType and member.__objclass__ in bases
    }
    if "__pydantic_extra__" in slots:
        # pydantic neither validates nor serialises other slots of a model.
        return (slots["__pydantic_extra__"],)
    return tuple(slots.values())


def decode_in_any(value: Any) -> bool:
    """Decode every lazy entity in ``value``, and everything inside these, in place.

    Entities are looked for in:

    - lists, tuples and dicts, and in subclasses of these;
    - the fields of dataclasses, pydantic models and msgspec structs;
    - the instances of the classes in :data:`CONTENTS`.

    The attributes of other objects are not looked at. Cycles are allowed.

    Returns:
        Whether there is a lazy entity in ``value``, decoded by this call or before.

    Raises:
        ValueError, google.protobuf.message.DecodeError: if a property cannot be decoded.
        RuntimeError: if a property was not prefetched, and reading it is refused: see ``wrap()``.
    """
    found = False
    # Keeps the objects alive, so that no id is reused.
    seen: dict[int, Any] = {}
    stack = [value]
    while stack:
        held = stack.pop()
        if type(held) in _SCALARS or id(held) in seen:
            continue
        seen[id(held)] = held
        # By the type: an object may pass for one of another class.
        if issubclass(type(held), dict) and hasattr(type(held), "_decode_all"):
            found = True
            if held._undecoded():
                held._decode_all(STORAGE)
        stack += _contents_of(held)
    return found


def _contents_of(value: Any) -> list[Any]:
    """Return what is inside a container or record, as it is at one moment."""
    kind: Any = type(value)
    if issubclass(kind, dict):
        return list(dict.values(value))
    if issubclass(kind, list):
        return list(list.__iter__(value))
    if issubclass(kind, tuple):
        return list(tuple.__iter__(value))
    fields = fields_of(kind)
    if fields is None:
        return []
    if callable(fields):
        return list(fields(value))
    held: list[Any] = []
    if kind.__dictoffset__:
        held += object.__getattribute__(value, "__dict__").values()
    for slot in fields:
        try:
            held.append(slot.__get__(value))
        except AttributeError:
            # It was not assigned.
            continue
    return held
