"""Entities that give out what was prefetched or assigned, and refuse to decode anything else."""

from __future__ import annotations

import contextlib
from collections.abc import ItemsView, Iterable, Iterator
from typing import Any, NoReturn

from lazyentity._encoder import called_by_encoder
from lazyentity.codec.errors import describe_entity
from lazyentity.entity import LazyEntityBase, derived_type, plain_type
from lazyentity.undecoded import UNDECODED

_stored = dict.__getitem__
_get_stored = dict.get


def make_strict(entity: LazyEntityBase) -> None:
    """Make a lazy entity refuse from now on to decode what is not decoded.

    Entities embedded in it are left as they are.
    """
    entity.__class__ = derived_type(StrictLazyEntity, plain_type(entity))


@contextlib.contextmanager
def _lenient(entity: LazyEntityBase) -> Iterator[None]:
    # An embedded entity gets the class of the one that it is decoded from. Another thread that
    # reads meanwhile is not refused, and gets the right value.
    kind = plain_type(entity)
    entity.__class__ = kind
    try:
        yield
    finally:
        entity.__class__ = derived_type(StrictLazyEntity, kind)


class StrictLazyEntity(LazyEntityBase):
    """A lazy entity that refuses to decode.

    Every operation that would decode a property raises RuntimeError instead. That is no KeyError,
    AttributeError or ValueError, which code that reads entities often catches: it would take what
    is there for missing or malformed.

    ``lazyentity.prefetch()`` decodes by explicit request. What writing has to decode, it decodes: a
    property whose index flag was changed; by a client that is not patched, one with a meaning.
    """

    __slots__ = ()

    def _refuse(self, name: str) -> NoReturn:
        raise RuntimeError(
            f"property {name!r} of {describe_entity(lambda: self.key)} was not prefetched, and is "
            "not decoded, for what returned the entity was wrapped with strict=True; "
            "name the property in prefetch=, or decode it by lazyentity.prefetch(entity, name)"
        )

    def _require_decoded(self, name: str) -> None:
        if _get_stored(self, name) is UNDECODED:
            self._refuse(name)

    def _decode_all(self) -> None:
        for name in self._undecoded():
            self._refuse(name)

    def __getitem__(self, name: str, /) -> Any:
        self._require_decoded(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None, /) -> Any:
        """As ``dict.get``."""
        self._require_decoded(name)
        return super().get(name, default)

    def setdefault(self, name: str, default: Any = None, /) -> Any:
        """As ``dict.setdefault``."""
        self._require_decoded(name)
        return super().setdefault(name, default)

    def pop(self, name: str, /, *default: Any) -> Any:
        """As ``dict.pop``."""
        self._require_decoded(name)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        """As ``dict.popitem``."""
        for last in reversed(self):
            self._require_decoded(last)
            break
        return super().popitem()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # as in the mapping
        """As ``dict.items``."""
        if called_by_encoder():
            # By the class, for another thread may have made it lenient by now.
            return StrictLazyEntity._items_to_write(self)
        return super().items()

    def _items_to_write(self) -> ItemsView[str, Any]:
        # Decoded in a twin: that the entity was written does not make it readable. But for what has
        # a meaning, which the encoder compares by identity.
        self._meanings  # noqa: B018  # decodes
        undecoded = set(self._undecoded())
        twin = plain_type(self)._from_raw(self._raw)
        return {
            name: twin[name] if name in undecoded else _stored(self, name) for name in self
        }.items()

    def _wire_meanings(self, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        with _lenient(self):
            return self._wire_meanings(names)

    def _read_on_request(self, name: str) -> Any:
        with _lenient(self):
            return self[name]
