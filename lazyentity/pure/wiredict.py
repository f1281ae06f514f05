"""The received bytes of an entity: one property's value, the key, flags, and bytes to write back.

Nothing here decodes in place: :mod:`~lazyentity.pure.mapping` does. :mod:`~lazyentity.pure.index`
finds the names and the values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, fallback, shadow
from lazyentity.codec.encodable import Changes, changes_of
from lazyentity.profiling.observer import ENTITY_COUNTS
from lazyentity.pure.eager import rest_of_entity
from lazyentity.pure.index import ParsedOneByOne, ParseSlot, serialised_values, split_again
from lazyentity.pure.shapes import Shape
from lazyentity.pure.untouched import merge_untouched, untouched_bytes
from lazyentity.storage.lazydict import LazyDict

# Entity's own, which the __dict__ of lazy entities shadows.
instance_dict = Entity.__dict__["__dict__"].__get__
_set_instance_dict = Entity.__dict__["__dict__"].__set__
POLICY, _DELETED = object(), object()
_NOTHING: frozenset[str] = frozenset()


class WireDict(LazyDict):
    """A dict of properties with the serialised entity that they are decoded from."""

    __slots__ = ("_state",)

    # In one slot, set by its descriptor: setting an attribute takes several times longer in an
    # Entity that defines __delattr__.
    _state: tuple[bytes, Shape, ParseSlot, dict[Any, Any]]

    @property
    def _raw(self) -> bytes:
        """As :attr:`lazyentity._backend.entities.LazyMapping._raw`."""
        return self._state[0]

    @property
    def _shape(self) -> Shape:
        return self._state[1]

    @property
    def _split(self) -> ParseSlot:
        return self._state[2]

    @property
    def _originals(self) -> dict[Any, Any]:
        """The values that were decoded, some before they are read, whatever was assigned since.

        Also, under keys that no name is equal to: the key, the deleted attributes, the policy,
        the counts of a profile.
        """
        return self._state[3]

    @property
    def _policy(self) -> Any:
        """As :attr:`lazyentity._backend.entities.LazyMapping._policy`."""
        return self._state[3].get(POLICY)

    @_policy.setter
    def _policy(self, policy: Any) -> None:
        self._originals[POLICY] = policy
        self._split.is_watched = True

    @property
    def _entity_counts(self) -> Any:
        """As :attr:`lazyentity._backend.entities.LazyMapping._entity_counts`."""
        return self._state[3].get(ENTITY_COUNTS)

    @_entity_counts.setter
    def _entity_counts(self, counts: Any) -> None:
        self._originals[ENTITY_COUNTS] = counts
        self._split.is_watched = True

    def _instance_dict(self) -> dict[str, Any]:
        """As :meth:`lazyentity._backend.entities.LazyMapping._instance_dict`."""
        return instance_dict(self)  # type: ignore[no-any-return]  # a descriptor of Entity's

    def _replace_instance_dict(self, attributes: dict[str, Any]) -> None:
        """As :meth:`lazyentity._backend.entities.LazyMapping._replace_instance_dict`."""
        _set_instance_dict(self, attributes)

    @property
    def _deleted_attributes(self) -> frozenset[str]:
        """As :attr:`lazyentity._backend.entities.LazyMapping._deleted_attributes`."""
        return self._originals.get(_DELETED, _NOTHING)  # type: ignore[no-any-return]  # as set below

    @_deleted_attributes.setter
    def _deleted_attributes(self, names: frozenset[str]) -> None:
        self._originals[_DELETED] = names

    def _take_all_parsed(self) -> Any:
        """Return the messages of all values, by name; to be given back, see :class:`ParseSlot`."""
        try:
            parsed = self._split.parsed.pop()
        except IndexError:
            parsed = split_again(self._split, self._raw, self._shape.ordinals)
        return parsed.whole() if isinstance(parsed, ParsedOneByOne) else parsed

    def _give_back(self, parsed: Any) -> None:
        self._split.parsed.append(parsed)

    def _require_received(self, undecoded: Iterable[str]) -> None:
        """Check that each undecoded property is among the received ones.

        Raises:
            TypeError: if one is not: code that bypasses the methods put the sentinel there.
        """
        received = self._shape.ordinals
        for name in undecoded:
            if name not in received:
                raise errors.undecoded_property(name, self._raw)

    def _changes(self) -> Changes:
        """As :meth:`lazyentity._backend.entities.LazyMapping._changes`."""
        raw, shape, _, _ = self._state
        return changes_of(self._storage(), shape.ordinals, raw)

    def _decoded(self) -> dict[str, Any]:
        """As :meth:`lazyentity._backend.entities.LazyMapping._decoded`."""
        return self._changes()[0]

    def _serialised_values(self, names: Iterable[str]) -> list[bytes]:
        """As :meth:`lazyentity._backend.entities.LazyMapping._serialised_values`."""
        return serialised_values(self._raw, self._shape.ordinals, names)

    def _untouched(
        self, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> bytes:
        """As :meth:`lazyentity._backend.entities.LazyMapping._untouched`."""
        touched, is_deep = self._touched(changed, deleted)
        return untouched_bytes(self._raw, touched, keeps_key, is_deep)

    def _merge_untouched(
        self, target: Any, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> None:
        """As :meth:`lazyentity._backend.entities.LazyMapping._merge_untouched`."""
        touched, is_deep = self._touched(changed, deleted)
        merge_untouched(target, self._raw, touched, keeps_key, is_deep)

    def _touched(
        self, changed: dict[Any, Any], deleted: Collection[str]
    ) -> tuple[Collection[str], bool]:
        rewritten = changed.keys() & self._shape.ordinals.keys()
        is_deep = any(isinstance(changed[name], (dict, list)) for name in rewritten)
        return rewritten.union(deleted), is_deep

    # The entity as it was received, whatever the caller changed since.

    def _wire_entity(self) -> Entity | None:
        """As :meth:`lazyentity._backend.entities.LazyMapping._wire_entity`."""
        if self._policy is not None:
            return None
        parsed = self._take_all_parsed()
        try:
            key, names = self._wire_key(), self._shape.ordinals
            entity = rest_of_entity(self._raw, key, names, self._storage(), parsed)
        except (DecodeError, ValueError, OverflowError):
            return None
        self._give_back(parsed)
        return entity

    def _wire_cases(self, names: Iterable[str]) -> bytes:
        """As :meth:`lazyentity._backend.entities.LazyMapping._wire_cases`."""
        return bytes(map(fallback.case_number, self._serialised_values(names)))

    def _wire_key(self) -> Key | None:
        """As :meth:`lazyentity._backend.entities.LazyMapping._wire_key`."""
        try:
            key: Key | None = self._originals[Key]
        except KeyError:
            key = self._originals.setdefault(Key, fallback.key(self._raw))
        return key

    def _wire_key_bytes(self) -> bytes:
        """As :meth:`lazyentity._backend.entities.LazyMapping._wire_key_bytes`."""
        return b"".join(shadow.EntityKey.FromString(self._raw).key)

    def _wire_excluded(self, names: Iterable[str] | None = None) -> set[str]:
        """As :meth:`lazyentity._backend.entities.LazyMapping._wire_excluded`."""
        raw = self._raw
        parsed = self._take_all_parsed()
        if names is None:
            names = self._shape.ordinals
        excluded = {name for name in names if fallback.excluded(raw, name, parsed[name])}
        self._give_back(parsed)
        return excluded


set_state = WireDict._state.__set__  # type: ignore[attr-defined]  # a slot
