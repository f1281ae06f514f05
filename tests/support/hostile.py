"""Values, names and errors whose texts cannot be made, or take part in an error in another way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn


class Refusal(Exception):
    """Raised by everything here that refuses."""


def _refuse(*_: object, **__: object) -> NoReturn:
    raise Refusal


class Unprintable:
    """An object without a text."""

    __repr__ = __str__ = __format__ = _refuse


class _UnprintableType(type):
    __repr__ = __str__ = _refuse

    def __getattribute__(cls, name: str) -> Any:
        return _refuse() if name.startswith("__") else super().__getattribute__(name)


class OfUnprintableType(metaclass=_UnprintableType):
    """An object whose type has no text either."""

    __repr__ = __str__ = __format__ = _refuse


class Pretender(Unprintable):
    """An object without a text that hides its class."""

    __class__ = property(_refuse)


class Endless:
    """An object whose text contains its own text."""

    def __repr__(self) -> str:
        return f"<{self!r}>"


class Wordless:
    """An object whose text is none."""

    def __repr__(self) -> str:
        return 7  # type: ignore[return-value]


class Text(str):
    """A text that does nothing but refuse."""

    __slots__ = ()
    __repr__ = __str__ = __format__ = __len__ = __getitem__ = __add__ = _refuse


class Speaker:
    """An object whose text is of a subclass of str."""

    def __repr__(self) -> str:
        return Text("spoken")


class Name(str):
    """A name that is found in a dict, and has no text."""

    __slots__ = ()
    __repr__ = __str__ = __format__ = _refuse


class AnyCase(str):
    """A text that equals its other spellings."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


VALUES: dict[str, Callable[[], Any]] = {
    "repr raises": Unprintable,
    "type has no name": OfUnprintableType,
    "hides its class": Pretender,
    "endless": Endless,
    "no text": Wordless,
    "text refuses": Speaker,
    "surrogate": lambda: "\udcff",
    "name": lambda: Name("name"),
}


TEXTLESS = ("repr raises", "endless", "no text", "text refuses")
"""The values that refuse nothing but a text."""


class Unsayable(Exception):
    """An error without a text."""

    __str__ = __repr__ = _refuse


@dataclass(frozen=True)
class Immutable(Exception):
    """An error that takes no attributes, such as a note."""

    text: str = "as it is"


class WithoutNotes(Exception):
    """An error that refuses notes."""

    add_note = _refuse


class WithOtherNotes(Exception):
    """An error that has something else for notes."""

    __notes__ = property(_refuse)


ERRORS: dict[str, Callable[[], Exception]] = {
    "without a text": Unsayable,
    "immutable": Immutable,
    "refuses notes": WithoutNotes,
    "has other notes": WithOtherNotes,
}
