"""A dict that is filled with ``UNDECODED`` and never returns it."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, ItemsView, ValuesView
from typing import TYPE_CHECKING, Any, TypeVar

from lazyentity._environment import native_without_client
from lazyentity.codec.undecoded import UNDECODED, require_decoded

_Read = TypeVar("_Read")
_Self = TypeVar("_Self", bound="LazyDict")
_Counted = TypeVar("_Counted", bound="CountedDict")

_store = dict.__setitem__
_fill = dict.update


# One item for each mapping: methods of a list are atomic, and += is not.
_live: list[None] = []


def live_mappings() -> int:
    """Return how many lazy mappings are alive, in any thread; adapters do nothing while none is."""
    return len(_live)


class CountedDict(dict[Any, Any]):
    """A dict that :func:`live_mappings` counts while it is alive.

    Instances are made by ``CountedDict.__new__``; ``dict.__new__`` would not count them.
    """

    __slots__ = ()

    def __new__(cls: type[_Counted], *_args: Any, **_kwargs: Any) -> _Counted:
        """Make an empty dict, and count it."""
        _live.append(None)
        return dict.__new__(cls)

    def __del__(self, *, _forget: Callable[[], None] = _live.pop) -> None:
        _forget()


if not TYPE_CHECKING and (_native := native_without_client()) is not None:
    # With the mappings of the native backend.
    CountedDict, live_mappings = _native.CountedDict, _native.live_mappings


class LazyDict(CountedDict):
    """A dict some of whose values are still ``UNDECODED``.

    Its operations are of three kinds:

    - ``len``, ``in``, iteration, ``reversed``, ``keys()``, ``del`` and ``clear`` are dict's own;
    - ``d[name] = value``, ``update`` and ``|=`` act as dict's own, but refuse the sentinel with a
      TypeError, and then change nothing;
    - the others ask the subclass to decode one value, or all undecoded values.
    """

    __slots__ = ()

    def __getitem__(self, name: Any, /) -> Any:
        """Return the value of ``name``, decoded now if need be.

        Raises:
            KeyError: if there is none.
        """
        raise NotImplementedError

    def _decode(self, name: Any, /) -> Any:
        """Decode the undecoded value of ``name`` in place, and return it.

        Not by ``__getitem__``, which a subclass may override and dict's own methods never call.
        """
        raise NotImplementedError

    def _decode_all(self, operation: str) -> None:
        """Decode every undecoded value; none, if one of them fails.

        Args:
            operation: the caller's operation, for the text of an error.
        """
        raise NotImplementedError

    def _read_deleted(self, name: Any) -> Any:
        """Decode a value that was taken out of storage before it was ever read."""
        raise NotImplementedError

    def _storage(self) -> dict[Any, Any]:
        """Return a consistent copy of the storage, the sentinel included."""
        # dict.copy() would call __getitem__, as the class has an __iter__.
        return _undisturbed(dict, dict.items(self))

    def _undecoded(self) -> list[Any]:
        """Return a consistent list of the names whose values are still to be decoded."""
        return _undisturbed(_undecoded_names, self)

    def __iter__(self) -> Any:
        # Overridden without a change, so that dict(e), {**e}, f(**e) and d.update(e) use keys() and
        # __getitem__: CPython reads the storage of a dict subclass directly as long as its tp_iter
        # is dict's own.
        return super().__iter__()

    def get(self, name: Any, default: Any = None, /) -> Any:
        """As dict: the value of ``name``, or ``default``."""
        value = dict.get(self, name, default)
        return value if value is not UNDECODED else self._decode(name)

    def __setitem__(self, name: Any, value: Any, /) -> None:
        if value is UNDECODED or isinstance(value, (list, dict)):
            require_decoded(name, value)
        _store(self, name, value)

    def update(self, /, *args: Any, **kwargs: Any) -> None:
        """As dict: set values."""
        given: dict[Any, Any] = {}
        try:
            _fill(given, *args, **kwargs)
        finally:
            # Also the values before an error: dict sets one after the other.
            for name, value in given.items():
                require_decoded(name, value)
            _fill(self, given)

    def __ior__(self: _Self, other: Any, /) -> _Self:
        LazyDict.update(self, other)
        return self

    def setdefault(self, name: Any, default: Any = None, /) -> Any:
        """As dict: the value of ``name``, which becomes ``default`` if there is none."""
        require_decoded(name, default)
        value = super().setdefault(name, default)
        return value if value is not UNDECODED else self._decode(name)

    def pop(self, name: Any, /, *default: Any) -> Any:
        """As dict: the value of ``name``, taken out; the default, if there is none."""
        if dict.get(self, name) is UNDECODED:
            self._decode(name)
        return super().pop(name, *default)

    def popitem(self) -> tuple[Any, Any]:
        """As dict: the last name and its value, taken out."""
        # Taken out first: while a value is decoded, another item can become the last one.
        name, value = item = super().popitem()
        if value is not UNDECODED:
            return item
        try:
            return name, self._read_deleted(name)
        except BaseException:
            super().setdefault(name, UNDECODED)
            raise

    def items(self) -> ItemsView[Any, Any]:  # type: ignore[override]  # typeshed wants dict's own view type, which this is
        """As dict: a view of names and values, all decoded."""
        self._decode_all("items()")
        return super().items()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # as for items()
        """As dict: a view of the values, all decoded."""
        self._decode_all("values()")
        return super().values()

    def copy(self) -> dict[Any, Any]:
        """As dict: a plain dict of everything, decoded."""
        self._decode_all("copy()")
        return self._storage()

    # Of a dict, as stock's: that of a class with an __iter__ would look up one name after the
    # other, and miss those that are taken out meanwhile.

    def __or__(self, other: Any, /) -> Any:
        self._decode_all("|")
        return self._storage().__or__(other)

    def __ror__(self, other: Any, /) -> Any:
        self._decode_all("|")
        return self._storage().__ror__(other)

    def __eq__(self, other: object, /) -> bool:
        # dict compares storage with storage, and so does the reflected comparison of a plain dict
        # after NotImplemented.
        if isinstance(other, dict):
            self._decode_all("==")
            if isinstance(other, LazyDict):
                other._decode_all("==")
        return super().__eq__(other)

    def __ne__(self, other: object, /) -> bool:
        return not self == other

    def __repr__(self) -> str:
        self._decode_all("repr()")
        return super().__repr__()


# Python sets it to None in a class that defines __eq__: so it would hide that of another base.
del LazyDict.__hash__


def _undecoded_names(mapping: LazyDict) -> list[Any]:
    # Both iterators go on in the same call. One raises if the size is not that of the moment when
    # it was made, some calls before.
    is_undecoded = map(operator.is_, dict.values(mapping), itertools.repeat(UNDECODED))
    return list(itertools.compress(dict.keys(mapping), is_undecoded))


def _undisturbed(read: Callable[[Any], _Read], source: Any) -> _Read:
    # Other threads do not interrupt a call of C code, but before CPython 3.12 the garbage collector
    # can run inside of it, and code that it calls lets other threads change the dict.
    while True:
        try:
            return read(source)
        except RuntimeError as error:
            if "changed size during iteration" not in str(error):
                raise
