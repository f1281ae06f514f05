"""A dict whose values are made one by one when they are asked for."""

from __future__ import annotations

import itertools
import operator
from typing import Any

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.storage.lazydict import LazyDict

_stored = dict.__getitem__
_found = dict.get
_store = dict.__setitem__


def keep(mapping: Any, name: Any, value: Any) -> Any:
    """Put a value in the place of the sentinel, if no other thread has done so or assigned one.

    Args:
        mapping: a lazy dict.
        name: of the value.
        value: made of the received bytes.

    Returns:
        The value that is there now; the given one, if the name was taken out.
    """
    # CPython lets threads take turns after a call, and so between dict.get() and the next line: a
    # value that is assigned there would be lost. It does not after taking an item of an iterator.
    (current,) = map(_found, (mapping,), (name,))
    if current is UNDECODED:
        _store(mapping, name, value)
        return value
    return value if current is None else current


class LazyValueDict(LazyDict):
    """A lazy dict whose subclass makes a value of its name.

    Its pickles are plain dicts, so that they can be loaded without lazyentity.
    """

    __slots__ = ()

    def _compute(self, name: Any) -> Any:
        """Make the value of ``name``, and leave the dict as it is."""
        raise NotImplementedError

    def __getitem__(self, name: Any, /) -> Any:
        value = _stored(self, name)
        # As _decode(), by one call less.
        return value if value is not UNDECODED else keep(self, name, self._compute(name))

    def _decode(self, name: Any, /) -> Any:
        return keep(self, name, self._compute(name))

    def get(self, name: Any, default: Any = None, /) -> Any:
        """As dict: the value of ``name``, or ``default``."""
        value = _found(self, name, default)
        return value if value is not UNDECODED else self._decode(name)

    def _is_untouched(self) -> bool:
        """Say whether there are values, none of which was made or assigned so far."""
        # The list is made in one call, which no other thread interrupts.
        values = list(dict.values(self))
        return bool(values) and all(map(operator.is_, values, itertools.repeat(UNDECODED)))

    def _read_deleted(self, name: Any) -> Any:
        return self._compute(name)

    def _decode_all(self, operation: str) -> None:
        made = {name: self._compute(name) for name in self._undecoded()}
        for name, value in made.items():
            keep(self, name, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self.copy(),)
