"""Proxies of messages that are made when they are first needed.

A proxy answers from the received bytes as far as it can. Any other question makes the real message,
which answers it. Proxies are read-only: a change in a message that was made on demand would be lost
on a reader that does not demand it.
"""

from __future__ import annotations

import copy
import operator
from typing import Any, ClassVar


def _refuse_class(proxy: object, value: object) -> None:
    raise TypeError("__class__ assignment is not supported")


class Proxy:
    """A proxy of a message.

    Subclasses keep their attributes in slots, with names that no field of a message has. Without an
    instance dictionary a proxy is read-only. (A ``__setattr__`` that explains would be paid for by
    each entity of a page.)
    """

    __slots__ = ()

    _real: ClassVar[Any]
    """The class of the message."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # ``type(message)()`` makes the message that it makes with the stock client.
        return cls._real(*args, **kwargs)

    def _make(self) -> Any:
        """Make the real message."""
        raise NotImplementedError

    def _whole(self) -> Any:
        """Return the real message, the same one each time."""
        try:
            return object.__getattribute__(self, "_message")
        except AttributeError:
            message = self._make()
            object.__setattr__(self, "_message", message)
            return message

    # The getter is in C: isinstance() asks it for each response.
    __class__: Any = property(operator.attrgetter("_real"), _refuse_class)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole(), name)

    def __eq__(self, other: object) -> bool:
        return bool(self._whole() == _unwrapped(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None  # type: ignore[assignment]  # messages are unhashable

    def __bool__(self) -> bool:
        return bool(self._whole())

    def __contains__(self, name: object) -> bool:
        return name in self._whole()

    def __dir__(self) -> list[str]:
        return dir(self._whole())

    def __repr__(self) -> str:
        return repr(self._whole())

    def __str__(self) -> str:
        return str(self._whole())

    def __copy__(self) -> Any:
        return copy.copy(self._whole())

    def __deepcopy__(self, memo: Any) -> Any:
        return copy.deepcopy(self._whole(), memo)

    def __reduce__(self) -> Any:
        return self._whole().__reduce__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._whole().__reduce_ex__(protocol)


def _unwrapped(instance: Any) -> Any:
    return instance._whole() if issubclass(type(instance), Proxy) else instance


class MessageProxy(Proxy):
    """A proxy of a proto-plus message, with the class methods that proto-plus messages have.

    The GAPIC layer, for one, logs ``type(response).to_json(response)``.
    """

    __slots__ = ()

    @classmethod
    def pb(cls, instance: Any = None, *, coerce: bool = False) -> Any:
        return cls._real.pb(_unwrapped(instance), coerce=coerce)

    @classmethod
    def serialize(cls, instance: Any) -> Any:
        return cls._real.serialize(_unwrapped(instance))

    @classmethod
    def to_json(cls, instance: Any, **options: Any) -> Any:
        return cls._real.to_json(_unwrapped(instance), **options)

    @classmethod
    def to_dict(cls, instance: Any, **options: Any) -> Any:
        return cls._real.to_dict(_unwrapped(instance), **options)
