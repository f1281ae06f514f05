"""Answers about classes, kept as long as the class, and keeping no class alive."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


def kept_of_classes(function: Callable[[Any], _Answer]) -> Callable[[Any], _Answer]:
    """Keep the answers of a function of a class, and no class alive by that.

    An answer must not refer to its class.
    """
    answers: dict[int, tuple[object, _Answer]] = {}

    @functools.wraps(function)
    def of_class(kind: Any) -> _Answer:
        # By id: a metaclass may define __eq__ in any way, and so make classes that have no hash.
        kept = answers.get(id(kind))
        if kept is not None:
            return kept[1]
        answer = function(kind)
        answers[id(kind)] = forgetting(kind, answers), answer
        return answer

    return of_class


def forgetting(kind: Any, answers: dict[int, Any]) -> object:
    """Return a weak reference to a class, to be kept in the answer that goes with the class."""
    number = id(kind)
    # Called while the class is still there, so that no other class can have its id.
    return weakref.ref(kind, lambda _: answers.pop(number, None))


class Slot:
    """Reads a slot of instances of a class, as its descriptor does, and keeps no class alive."""

    __slots__ = ("_base", "name")

    def __init__(self, base: Any, name: str) -> None:
        self._base = weakref.ref(base)
        self.name = name

    def descriptor(self) -> Any:
        """Return the descriptor, while there is an instance.

        Raises:
            AttributeError: if the class has something else by that name now.
        """
        found = vars(self._base()).get(self.name)
        if type(found) is not types.MemberDescriptorType:
            raise AttributeError(f"there is no slot {self.name!r}")
        return found

    def __get__(self, value: Any, kind: Any = None) -> Any:
        return self.descriptor().__get__(value)
