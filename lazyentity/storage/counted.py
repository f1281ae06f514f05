"""The count of lazy mappings that are alive: adapters do nothing while there are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from lazyentity._environment import native_without_client

_Self = TypeVar("_Self", bound="CountedDict")

# One item for each mapping: methods of a list are atomic, and += is not.
_live: list[None] = []


def live_mappings() -> int:
    """Return how many lazy mappings are alive, in any thread."""
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


if not TYPE_CHECKING and (_native := native_without_client()) is not None:
    # With the mappings of the native backend.
    CountedDict, live_mappings = _native.CountedDict, _native.live_mappings
