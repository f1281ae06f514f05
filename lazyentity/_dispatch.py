"""Entities of other classes than ``google.cloud.datastore.Entity``, with their own operations.

The functions of :mod:`lazyentity.operations`, :mod:`lazyentity.detached` and
:mod:`lazyentity.plain` are called with entities of any client that is patched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

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
