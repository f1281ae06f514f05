"""The pure backend: a mapping over a serialised entity that protobuf's own parser splits.

:mod:`~lazyentity.pure.split` tells which names there are; storage is cloned from the layout's
template. A property is converted when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterable
from typing import Any, TypeVar

from google.cloud.datastore.entity import Entity
from google.cloud.datastore.key import Key
from google.protobuf.message import DecodeError

from lazyentity.codec import errors, fallback, messages
from lazyentity.codec.eager import plain_value
from lazyentity.codec.lazydict import LazyDict
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.codec.untouched import merge_untouched, untouched_bytes
from lazyentity.codec.values import SCALARS, meaning_of
from lazyentity.pure.shapes import EMPTY, Layout, undecoded_template
from lazyentity.pure.split import (
    ParsedOneByOne,
    Split,
    empty_split,
    serialised_values,
    split_again,
    split_new,
)

_Self = TypeVar("_Self", bound="LazyMapping")

# Entity's own, which the __dict__ of lazy entities shadows.
_instance_dict = Entity.__dict__["__dict__"].__get__
_set_instance_dict = Entity.__dict__["__dict__"].__set__
_POLICY, _DELETED = object(), object()
_NOTHING: frozenset[str] = frozenset()
_new = dict.__new__
_fill = dict.update
_stored = dict.__getitem__
_store = dict.__setitem__
# Of the class, for the attribute of a message takes longer to find than to call.
_which = messages.Value.WhichOneof

_PATIENCE = 5
"""How often an entity is parsed anew for one property, before all of them are decoded at once.

Code that reads many entities column by column comes back to each when its split is gone. Decoding
all properties takes as long as a few parses.
"""


class LazyMapping(LazyDict):
    """A dict of an entity's properties that decodes each when it is first read.

    States of a property, and all transitions between them:

    ========== ============================================ =======================================
    state      storage                                      leaves it by
    ========== ============================================ =======================================
    UNDECODED  the sentinel; its bytes are in ``_raw``      read: DECODED; else as DECODED
    DECODED    the value, the same object ever after        set: ASSIGNED; del: DELETED
    ASSIGNED   the caller's object                          set: ASSIGNED; del: DELETED
    DELETED    no such key                                  set: ASSIGNED
    ========== ============================================ =======================================

    A decode that fails changes nothing and raises again at the next read.

    These never decode: ``len``, ``in``, iteration, ``reversed``, ``keys()``, ``e[name] = value``,
    ``del``, ``update``, ``|=``, ``clear``. These decode one property: ``e[name]``, ``get``,
    ``pop``, ``popitem``, ``setdefault``. All else decodes what is left, in one pass, and then does
    what dict does.
    """

    __slots__ = ("_state",)

    # In one slot, set by its descriptor: setting an attribute of an Entity that has a __delattr__
    # of its own takes several times longer.
    _state: tuple[bytes, Layout, Split, dict[Any, Any]]

    @property
    def _raw(self) -> bytes:
        """The serialised entity, perhaps in another encoding than it came in."""
        return self._state[0]

    @property
    def _layout(self) -> Layout:
        return self._state[1]

    @property
    def _split(self) -> Split:
        return self._state[2]

    @property
    def _originals(self) -> dict[Any, Any]:
        """The values that were decoded, some before they are read, whatever was assigned since.

        Also, under what no name is equal to: the key, the deleted attributes, the policy.
        """
        return self._state[3]

    @property
    def _policy(self) -> Any:
        """Refuses to decode, see :mod:`lazyentity.strict`; None, if nothing does."""
        return self._originals.get(_POLICY)

    @_policy.setter
    def _policy(self, policy: Any) -> None:
        self._originals[_POLICY] = policy

    def __new__(cls: type[_Self], *args: Any, **kwargs: Any) -> _Self:
        mapping = super().__new__(cls, *args, **kwargs)
        _set_state(mapping, (b"", EMPTY, empty_split(), {}))
        return mapping

    @classmethod
    def _from_raw(cls: type[_Self], raw: bytes) -> _Self:
        """Make a mapping of the serialised entity ``raw``, without running ``__init__``."""
        mapping = _new(cls)
        try:
            raw, layout, split = split_new(raw)
        except DecodeError as error:
            raise errors.undecodable_entity(error, raw) from error
        _set_state(mapping, (raw, layout, split, {}))
        if cls is not LazyMapping:
            # While nobody else has the mapping. CPython before 3.12 may collect garbage, and so run
            # other threads, between looking whether there is an instance dictionary and putting its
            # own in place: of two threads that come first, one would write into one that is lost.
            _instance_dict(mapping)
        # CPython clones the key table as a whole when an empty dict is updated from a dict that
        # never had a key deleted.
        _fill(mapping, layout.template or undecoded_template(layout.ordinals))
        return mapping

    def _instance_dict(self) -> dict[str, Any]:
        """Return the instance dictionary as it is; only for subclasses of ``Entity``, too.

        It lacks what was never read from the bytes.
        """
        return _instance_dict(self)  # type: ignore[no-any-return]  # a descriptor of Entity's

    def _replace_instance_dict(self, attributes: dict[str, Any]) -> None:
        """Make ``attributes`` the instance dictionary; only for subclasses of ``Entity``, too."""
        _set_instance_dict(self, attributes)

    @property
    def _deleted_attributes(self) -> frozenset[str]:
        """The attributes of an ``Entity`` that are not to be read from the bytes again."""
        return self._originals.get(_DELETED, _NOTHING)  # type: ignore[no-any-return]  # what is set

    @_deleted_attributes.setter
    def _deleted_attributes(self, names: frozenset[str]) -> None:
        self._originals[_DELETED] = names

    def _take_all_parsed(self) -> Any:
        """Return the messages of all values, by name; to be given back, see :class:`Split`."""
        try:
            parsed = self._split.pop()
        except IndexError:
            parsed = split_again(self._split, self._raw, self._layout.ordinals)
        return parsed.whole() if isinstance(parsed, ParsedOneByOne) else parsed

    def _give_back(self, parsed: Any) -> None:
        split = self._split
        if split.kept:
            split.append(parsed)

    def _decode_all(self, operation: str) -> None:
        """Decode every property that is left; none, if one of them fails.

        Args:
            operation: what asks for this, for the text of an error.

        Raises:
            RuntimeError: if there is a policy.
            google.protobuf.message.DecodeError: if the bytes of one are malformed.
            ValueError: as the client raises it, if it could not have converted one.
        """
        undecoded = self._undecoded()
        if not undecoded:
            return
        self._require_received(undecoded)
        if self._policy is not None:
            self._policy.refuse_all(self, operation)
        parsed = self._take_all_parsed()
        decoded = self._converted(undecoded, parsed, ())
        self._give_back(parsed)
        keep = self._originals.setdefault
        for name, value in decoded.items():
            _store(self, name, keep(name, value))

    def _decode_ahead(self, parsed: Any) -> None:
        """Decode every property that is left, but leave each UNDECODED until it is read.

        A property that cannot be decoded raises when it is read.
        """
        if isinstance(parsed, ParsedOneByOne):
            parsed = parsed.whole()
        refusals = (DecodeError, ValueError, OverflowError)
        keep = self._originals.setdefault
        for name, value in self._converted(self._undecoded(), parsed, refusals).items():
            keep(name, value)

    def _converted(
        self, names: Iterable[str], parsed: Any, refusals: tuple[type[Exception], ...]
    ) -> dict[str, Any]:
        """Convert the values of ``names``, except those for which one of ``refusals`` is raised."""
        converted = {}
        raw, make_entity = self._raw, type(self)._from_raw
        for name in names:
            try:
                message = parsed[name]
                value_type = _which(message, "value_type")
                if value_type in SCALARS:
                    converted[name] = getattr(message, value_type)
                else:
                    converted[name] = fallback.convert(raw, name, message, make_entity)
            except refusals:
                continue
        return converted

    def _require_received(self, undecoded: Collection[str]) -> None:
        """Check that the names of undecoded properties are those of properties that there are.

        Raises:
            TypeError: if one is not: something that bypasses the methods put the sentinel there.
        """
        received = self._layout.ordinals
        for name in undecoded:
            if name not in received:
                raise errors.undecoded_property(name, self._raw)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # as in LazyDict
        """As ``dict.items``; a policy may give others."""
        return self._all_items() if self._policy is None else self._policy.items(self)

    def _all_items(self) -> ItemsView[str, Any]:
        """As :meth:`items`, without asking the policy for other ones."""
        return super().items()

    def _read_on_request(self, name: str) -> Any:
        """Read a property for who says that it is to be decoded, whatever the policy is."""
        if self._policy is None:
            return self[name]
        value = _stored(self, name)
        if value is UNDECODED:
            value = self._convert(name)
            _store(self, name, value)
        return value

    def _read_deleted(self, name: str) -> Any:
        if self._policy is not None:
            self._policy.refuse(self, name)
        return self._convert(name)

    def _convert(self, name: str) -> Any:
        self._require_received((name,))
        parsed = self._take_all_parsed()
        value = fallback.convert(self._raw, name, parsed[name], type(self)._from_raw)
        self._give_back(parsed)
        return self._originals.setdefault(name, value)

    def _decoded(self) -> dict[str, Any]:
        """Return the properties that are DECODED or ASSIGNED, with their values.

        Raises:
            TypeError: if something that bypasses the methods put the sentinel in place of a value.
        """
        self._require_received(self._undecoded())
        return {name: value for name, value in dict.items(self) if value is not UNDECODED}

    def _plain_values(self, names: Iterable[str], copy: Callable[[Any], Any]) -> dict[str, Any]:
        """Return properties as plain values, and leave them as they are.

        Args:
            names: of the properties; those of all, if it is empty.
            copy: makes a plain value of one that was decoded or assigned.

        Raises:
            KeyError: if there is no property of one of the names.
            RuntimeError: if one is undecoded and there is a policy.
            TypeError: if something that bypasses the methods put the sentinel in place of a value.
            google.protobuf.message.DecodeError, ValueError: if a property cannot be decoded.
        """
        stored = {name: _stored(self, name) for name in names or list(self)}
        undecoded = [name for name, value in stored.items() if value is UNDECODED]
        self._require_received(undecoded)
        if undecoded and self._policy is not None:
            if not names:
                self._policy.refuse_all(self, "to_dict()")
            self._policy.refuse(self, undecoded[0])
        apart = LazyMapping._from_raw(self._raw)
        return {
            name: plain_value(apart[name]) if value is UNDECODED else copy(value)
            for name, value in stored.items()
        }

    def _serialised_values(self, names: Iterable[str]) -> list[bytes]:
        """Return the ``google.datastore.v1.Value`` of each of ``names``, as it came."""
        return serialised_values(self._raw, self._layout.ordinals, names)

    def _untouched(
        self, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> bytes:
        """Serialise, as it came, what is not encoded anew: with what is unknown to the client.

        Args:
            changed: the properties that are encoded anew, with their values.
            deleted: names of other properties to leave out, all of them on the wire.
            keeps_key: whether to serialise the key, too.
        """
        touched, is_deep = self._touched(changed, deleted)
        return untouched_bytes(self._raw, touched, keeps_key, is_deep)

    def _merge_untouched(
        self, target: Any, changed: dict[Any, Any], deleted: Collection[str], keeps_key: bool
    ) -> None:
        """Merge what :meth:`_untouched` returns into the empty upb ``Entity`` message ``target``.

        Raises:
            google.protobuf.message.DecodeError: if something of that is malformed. ``target`` is
                left in any state.
        """
        touched, is_deep = self._touched(changed, deleted)
        merge_untouched(target, self._raw, touched, keeps_key, is_deep)

    def _touched(
        self, changed: dict[Any, Any], deleted: Collection[str]
    ) -> tuple[Collection[str], bool]:
        rewritten = changed.keys() & self._layout.ordinals.keys()
        is_deep = any(isinstance(changed[name], (dict, list)) for name in rewritten)
        return rewritten.union(deleted), is_deep

    # What the wire says of the entity, whatever the caller changed since.

    def _wire_entity(self) -> Entity | None:
        """Make a stock entity of the bytes, in wire order, without decoding anything in place.

        Properties that are not UNDECODED in storage have any value, and neither flag nor meaning.

        Returns:
            None, if the properties have to be read: with this backend always, for there is no
            faster way; with the other one, too, if a policy may refuse that.
        """
        return None

    def _wire_members(self, names: Iterable[str]) -> bytes:
        """Return which member of the oneof each of ``names`` has: a byte for each, its number.

        Where a value has none, or its bytes are malformed, that is 0.
        """
        return bytes(map(fallback.member_number, self._serialised_values(names)))

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
            names: properties of the serialised entity, which alone are looked at; None for all.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if the elements of an array disagree.
        """
        raw = self._raw
        parsed = self._take_all_parsed()
        if names is None:
            names = self._layout.ordinals
        excluded = {name for name in names if fallback.excluded(raw, name, parsed[name])}
        self._give_back(parsed)
        return excluded

    def _wire_meanings(self, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        """Return ``(meaning, value)`` by name for the properties that have a meaning.

        These are decoded, for the client compares the value by identity when it writes.

        Args:
            names: properties of the serialised entity, which alone are looked at; None for all.

        Raises:
            google.protobuf.message.DecodeError: if the bytes of a property are malformed.
            ValueError: as the client raises it, if it could not have converted one of the values.
        """
        meanings = {}
        raw = self._raw
        parsed = self._take_all_parsed()
        for name in self._layout.ordinals if names is None else names:
            message = parsed[name]
            meaning = meaning_of(message)
            if meaning is not None:
                if name not in self._originals:
                    value = fallback.convert(raw, name, message, type(self)._from_raw)
                    self._originals.setdefault(name, value)
                original = self._originals[name]
                # Else it was read, replaced or deleted before.
                if dict.get(self, name) is UNDECODED:
                    _store(self, name, original)
                meanings[name] = (meaning, original)
            del message
        self._give_back(parsed)
        return meanings

    # dict, without the sentinel ever coming out.

    def __getitem__(self, name: str, /) -> Any:
        # The hottest function of the backend: it calls as little as it can.
        value = _stored(self, name)
        if value is not UNDECODED:
            return value
        raw, layout, split, originals = self._state
        if _POLICY in originals:
            originals[_POLICY].refuse(self, name)
        if type(name) is not str:
            # What a dict finds by its own idea of equality, upb does not.
            name = next((known for known in layout.ordinals if known == name), name)
        try:
            parsed = split.pop()
        except IndexError:
            value = originals.get(name, UNDECODED)
            if value is not UNDECODED:
                _store(self, name, value)
                return value
            parsed = split_again(split, raw, layout.ordinals)
            if split.parsed_again == _PATIENCE:
                self._decode_ahead(parsed)
        try:
            message = parsed[name]
        except KeyError:
            self._require_received((name,))
            raise
        members = layout.members
        # A member of a oneof that has another value than its default is the one that is set. Which
        # one that is, is mostly the same as in the entity before.
        member = members.get(name, "boolean_value")
        value = getattr(message, member)
        if not value:
            value_type = _which(message, "value_type")
            if value_type not in SCALARS:
                if value_type is None:
                    self._require_received((name,))
                value = fallback.convert(raw, name, message, type(self)._from_raw)
            elif value_type != member:
                members[name] = value_type
                value = getattr(message, value_type)
        del message
        if split.kept:
            split.append(parsed)
        # Of two threads that decoded the same property, both get the object of whoever was first.
        value = originals.setdefault(name, value)
        _store(self, name, value)
        return value


_set_state = LazyMapping._state.__set__  # type: ignore[attr-defined]  # a slot
