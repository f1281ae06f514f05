"""The count of lazy mappings, which spares adapters a look into arguments, and that look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lazyentity.search import decode_in_any

_Self = TypeVar("_Self", bound="CountedDict")

decode_in_place = decode_in_any
"""As :func:`lazyentity.search.decode_in_any`; the native backend has its own walk."""

# One item for each mapping: methods of a list are atomic, and += is not.
_live: list[None] = []


def live_mappings() -> int:
    """Return how many lazy mappings are alive, in any thread; with none, adapters do nothing."""
    return len(_live)


class CountedDict(dict[Any, Any]):
    """A dict that :func:`live_mappings` counts while it is alive.

    Instances are made by ``CountedDict.__new__``; ``dict.__new__`` would not count them.
    """

    __slots__ = ()

    def __new__(cls: type[_Self], *_args: Any, **_kwargs: Any) -> _Self:
        """Make an empty dict, and count it."""
        _live.append(None)
        return dict.__new__(cls)

    def __del__(self, *, _forget: Callable[[], None] = _live.pop) -> None:
        _forget()


def type_version(_kind: type) -> int:
    """As :meth:`lazyentity._backend.protocols.Backend.type_version`."""
    return 0
