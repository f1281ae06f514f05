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

from lazyentity.codec import errors, fallback
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
    # Entity with a __delattr__ of its own.
    _state: tuple[bytes, Shape, ParseSlot, dict[Any, Any]]

    @property
    def _raw(self) -> bytes:
        """The serialised entity, perhaps in another encoding than it came in."""
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
        """Refuses to decode, see :mod:`lazyentity.strict`; None, if decoding is free."""
        return self._originals.get(POLICY)

    @_policy.setter
    def _policy(self, policy: Any) -> None:
        self._originals[POLICY] = policy

    @property
    def _entity_counts(self) -> Any:
        """The :class:`~lazyentity.profiling.counters.EntityCounts` of an entity; None without one.

        The native backend has its own class for them.
        """
        return self._originals.get(ENTITY_COUNTS)

    def _instance_dict(self) -> dict[str, Any]:
        """Return the instance dictionary as it is; for subclasses that are ``Entity``, too.

        It lacks the attributes that were never read from the bytes.
        """
        return instance_dict(self)  # type: ignore[no-any-return]  # a descriptor of Entity's

    def _replace_instance_dict(self, attributes: dict[str, Any]) -> None:
        """Make ``attributes`` the instance dictionary; for subclasses that are ``Entity``, too."""
        _set_instance_dict(self, attributes)

    @property
    def _deleted_attributes(self) -> frozenset[str]:
        """The attributes of an ``Entity`` that are not to be read from the bytes again."""
        return self._originals.get(_DELETED, _NOTHING)  # type: ignore[no-any-return]  # as set below

    @_deleted_attributes.setter
    def _deleted_attributes(self, names: frozenset[str]) -> None:
        self._originals[_DELETED] = names

    def _take_all_parsed(self) -> Any:
        """Return the messages of all values, by name; to be given back, see :class:`ParseSlot`."""
        try:
            parsed = self._split.pop()
        except IndexError:
            parsed = split_again(self._split, self._raw, self._shape.ordinals)
        return parsed.whole() if isinstance(parsed, ParsedOneByOne) else parsed

    def _give_back(self, parsed: Any) -> None:
        split = self._split
        if split.kept:
            split.append(parsed)

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
        """Return the changes made since the entity was received.

        Raises:
            TypeError: if code that bypasses the methods put the sentinel in place of a value.
        """
        raw, shape, _, _ = self._state
        return changes_of(self._storage(), shape.ordinals, raw)

    def _decoded(self) -> dict[str, Any]:
        """Return the properties that are DECODED or ASSIGNED, with their values, of one moment.

        Raises:
            TypeError: if code that bypasses the methods put the sentinel in place of a value.
        """
        return self._changes()[0]

    def _serialised_values(self, names: Iterable[str]) -> list[bytes]:
        """Return the ``google.datastore.v1.Value`` of each of ``names``, as it came."""
        return serialised_values(self._raw, self._shape.ordinals, names)

    def _untouched(
        self, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> bytes:
        """Serialise, as it came, the part of the entity that is not encoded again.

        Fields unknown to the client are part of it.

        Args:
            changed: the properties that are encoded again, with their values.
            deleted: names of other properties to leave out, all of them on the wire.
            keeps_key: whether to serialise the key, too.
        """
        touched, is_deep = self._touched(changed, deleted)
        return untouched_bytes(self._raw, touched, keeps_key, is_deep)

    def _merge_untouched(
        self, target: Any, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> None:
        """Merge the result of :meth:`_untouched` into the empty upb ``Entity`` message ``target``.

        Raises:
            google.protobuf.message.DecodeError: if something in that result is malformed.
                ``target`` is left in any state.
        """
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
        """Make a stock entity of the bytes, in wire order, without decoding anything in place.

        Properties that are not UNDECODED in storage have any value, and neither flag nor meaning.

        Returns:
            None, if the properties have to be read: a policy may refuse to decode, or the bytes of
            a property are malformed or, to the native backend, unusual.
        """
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
        """Return the oneof case of each of ``names``: a byte for each, the number of the field.

        The number is 0 if a value has no case or malformed bytes.
        """
        return bytes(map(fallback.case_number, self._serialised_values(names)))

    def _wire_key(self) -> Key | None:
        """Decode the key, the first time; None if there is none.

        Raises:
            google.protobuf.message.DecodeError: if its bytes are malformed.
            ValueError: as the client raises it, if it could not have converted the key.
        """
        try:
            key: Key | None = self._originals[Key]
        except KeyError:
            key = self._originals.setdefault(Key, fallback.key(self._raw))
        return key

    def _wire_excluded(self, names: Iterable[str] | None = None) -> set[str]:
        """Return the names that the client would list in ``exclude_from_indexes``.

        Args:
            names: properties of the serialised entity, the only ones to look at; None for all.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if the elements of an array disagree.
        """
        raw = self._raw
        parsed = self._take_all_parsed()
        if names is None:
            names = self._shape.ordinals
        excluded = {name for name in names if fallback.excluded(raw, name, parsed[name])}
        self._give_back(parsed)
        return excluded


set_state = WireDict._state.__set__  # type: ignore[attr-defined]  # a slot
