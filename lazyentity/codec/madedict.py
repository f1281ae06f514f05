"""A dict whose values are made one by one when they are asked for."""

from __future__ import annotations

from typing import Any

from lazyentity.codec.lazydict import LazyDict
from lazyentity.codec.undecoded import UNDECODED

_stored = dict.__getitem__
_found = dict.get
_store = dict.__setitem__


class MadeDict(LazyDict):
    """A lazy dict whose subclass makes a value of its name.

    Its pickles are plain dicts, so that they can be loaded without lazyentity.
    """

    __slots__ = ()

    def _made(self, name: Any) -> Any:
        """Make the value of ``name``, and leave the dict as it is."""
        raise NotImplementedError

    def __getitem__(self, name: Any, /) -> Any:
        value = _stored(self, name)
        return value if value is not UNDECODED else self._decode(name)

    def _decode(self, name: Any, /) -> Any:
        return self._keep(name, self._made(name))

    def get(self, name: Any, default: Any = None, /) -> Any:
        """As dict: the value of ``name``, or ``default``."""
        value = _found(self, name, default)
        return value if value is not UNDECODED else self._decode(name)

    def _keep(self, name: Any, value: Any) -> Any:
        # Another thread may have made or assigned it, or taken it out, meanwhile.
        current = _found(self, name)
        if current is UNDECODED:
            _store(self, name, value)
            return value
        return value if current is None else current

    def _read_deleted(self, name: Any) -> Any:
        return self._made(name)

    def _decode_all(self, operation: str) -> None:
        made = {name: self._made(name) for name in self._undecoded()}
        for name, value in made.items():
            self._keep(name, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return dict, (self.copy(),)
