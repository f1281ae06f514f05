"""The pure backend: a mapping over a serialised entity that protobuf's own parser splits.

:mod:`~lazyentity.pure.index` finds the names; storage is cloned from the template of the shape. A
property is converted when it is read.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from google.protobuf.message import DecodeError

from lazyentity.codec import errors, fallback, messages
from lazyentity.codec.undecoded import UNDECODED, undecoded_template
from lazyentity.codec.values import SCALARS, meaning_of, plain_value
from lazyentity.profiling.observer import ENTITY_COUNTS
from lazyentity.pure.index import ParsedOneByOne, empty_parse_slot, index_entity, split_again
from lazyentity.pure.shapes import EMPTY
from lazyentity.pure.wiredict import POLICY, WireDict, instance_dict, set_state
from lazyentity.storage.lazydict import LazyDict
from lazyentity.storage.lazyvaluedict import keep

_Self = TypeVar("_Self", bound="LazyMapping")

_new = LazyDict.__new__
_fill = dict.update
_found = dict.get
_stored = dict.__getitem__
_store = dict.__setitem__
# The method of the class: looking it up on a message takes longer than calling it.
_which = messages.Value.WhichOneof

_PATIENCE = 5
"""How often an entity is parsed again for one property, before all properties are decoded at once.

Code that reads many entities column by column comes back to each when its split is gone. Decoding
all properties takes as long as a few parses.
"""


class LazyMapping(WireDict):
    """As :class:`lazyentity._backend.entities.LazyMapping`."""

    __slots__ = ()

    def __new__(cls: type[_Self], *args: Any, **kwargs: Any) -> _Self:
        mapping = super().__new__(cls, *args, **kwargs)
        set_state(mapping, (b"", EMPTY, empty_parse_slot(), {}))
        return mapping

    @classmethod
    def _from_raw(cls: type[_Self], raw: bytes) -> _Self:
        """As :meth:`lazyentity._backend.entities.LazyMapping._from_raw`."""
        if not isinstance(raw, bytes):
            # As the native backend, whose argument is declared.
            raise TypeError(f"raw must be bytes, not {type(raw).__name__}")
        mapping = _new(cls)
        try:
            raw, shape, split = index_entity(raw)
        except DecodeError as error:
            raise errors.undecodable_entity(error, raw) from error
        set_state(mapping, (raw, shape, split, {}))
        if cls is not LazyMapping:
            # While no other thread has the mapping. CPython before 3.12 may collect garbage, and so
            # run other threads, between looking for an instance dictionary and putting its own in
            # place: one of two threads at once would write into a lost dictionary.
            instance_dict(mapping)
        # CPython clones the key table as a whole when an empty dict is updated from a dict that
        # never had a key deleted.
        _fill(mapping, shape.template or undecoded_template(shape.ordinals))
        return mapping

    def _decode_all(self, operation: str) -> None:
        """As :meth:`lazyentity._backend.entities.LazyMapping._decode_all`."""
        undecoded = self._undecoded()
        if not undecoded:
            return
        split = self._split
        self._require_received(undecoded)
        if split.is_watched and self._policy is not None:
            self._policy.refuse_all(self, operation)
        parsed = self._take_all_parsed()
        decoded = self._converted(undecoded, parsed, ())
        split.parsed.append(parsed)
        # An assignment or deletion meanwhile stays. In one call, which no thread interrupts.
        stored = map(_found, itertools.repeat(self), decoded)
        is_undecoded = map(operator.is_, stored, itertools.repeat(UNDECODED))
        _fill(self, itertools.compress(decoded.items(), is_undecoded))
        if split.is_watched and self._entity_counts is not None:
            self._entity_counts.decode(undecoded, operation)

    def _decode_ahead(self, parsed: Any) -> None:
        """Decode every undecoded property, but leave each UNDECODED until it is read.

        A property that cannot be decoded raises when it is read.
        """
        if isinstance(parsed, ParsedOneByOne):
            parsed = parsed.whole()
        refusals = (DecodeError, ValueError, OverflowError)
        self._converted(self._undecoded(), parsed, refusals)

    def _converted(
        self, names: Iterable[str], parsed: Any, refusals: tuple[type[Exception], ...]
    ) -> dict[str, Any]:
        """Convert the values of ``names``, except those for which one of ``refusals`` is raised."""
        converted = {}
        raw, _, _, originals = self._state
        make_entity = type(self)._from_raw
        for name in names:
            try:
                message = parsed[name]
                value_type = _which(message, "value_type")
                if value_type in SCALARS:
                    value = getattr(message, value_type)
                else:
                    value = fallback.convert(raw, name, message, make_entity)
            except refusals:
                continue
            # Of two threads that decoded the same property, both get the object of the first.
            converted[name] = originals.setdefault(name, value)
        return converted

    def _read_on_request(self, name: str) -> Any:
        """As :meth:`lazyentity._backend.entities.LazyMapping._read_on_request`."""
        value = _stored(self, name)
        if value is UNDECODED:
            value = self._convert(name)
            keep(self, name, value)
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
        if self._entity_counts is not None:
            self._entity_counts.decode((name,))
        return self._originals.setdefault(name, value)

    def _plain_values(self, names: Iterable[str], copy: Callable[[Any], Any]) -> dict[str, Any]:
        """As :meth:`lazyentity._backend.entities.LazyMapping._plain_values`."""
        stored = {name: _stored(self, name) for name in names} if names else self._storage()
        undecoded = [name for name, value in stored.items() if value is UNDECODED]
        self._require_received(undecoded)
        if undecoded and self._policy is not None:
            if not names:
                self._policy.refuse_all(self, "to_dict()")
            self._policy.refuse(self, undecoded[0])
        apart = LazyMapping._from_raw(self._raw)
        plain = {
            name: plain_value(apart[name]) if value is UNDECODED else copy(value)
            for name, value in stored.items()
        }
        if undecoded and self._entity_counts is not None:
            self._entity_counts.decode(undecoded, "" if names else "to_dict()")
        return plain

    # The entity as it was received, whatever the caller changed since.

    def _wire_meanings(self, names: Iterable[str] | None = None) -> dict[str, tuple[Any, Any]]:
        """As :meth:`lazyentity._backend.entities.LazyMapping._wire_meanings`."""
        meanings = {}
        raw = self._raw
        parsed = self._take_all_parsed()
        for name in self._shape.ordinals if names is None else names:
            message = parsed[name]
            meaning = meaning_of(message)
            if meaning is not None:
                if name not in self._originals:
                    value = fallback.convert(raw, name, message, type(self)._from_raw)
                    self._originals.setdefault(name, value)
                original = self._originals[name]
                # Otherwise it was read, replaced or deleted before.
                keep(self, name, original)
                meanings[name] = (meaning, original)
            del message
        self._give_back(parsed)
        return meanings

    # The operations of dict; none returns the sentinel.

    def __getitem__(self, name: str, /) -> Any:
        # The hottest function of the backend: it calls as little as it can. A generator expression
        # in it would take a cell for each variable of it at each call.
        value = _stored(self, name)
        if value is not UNDECODED:
            return value
        raw, shape, split, originals = self._state
        if split.is_watched and POLICY in originals:
            originals[POLICY].refuse(self, name)
        if type(name) is not str:
            # A dict finds a name by equality, upb only by its text.
            name = _known_name(shape.ordinals, name)
        try:
            parsed = split.parsed.pop()
        except IndexError:
            value = originals.get(name, UNDECODED)
            if value is not UNDECODED:
                keep(self, name, value)
                if ENTITY_COUNTS in originals:
                    originals[ENTITY_COUNTS].decode((name,))
                return value
            parsed = split_again(split, raw, shape.ordinals)
            if split.parsed_again == _PATIENCE:
                self._decode_ahead(parsed)
        try:
            message = parsed[name]
        except KeyError:
            self._require_received((name,))
            raise
        # The oneof case whose value is not its default is set. Mostly, the entity before has the
        # same case, or another value of the same entity.
        case = shape.cases.get(name, shape.case)
        value = getattr(message, case)
        if not value:
            value_type = _which(message, "value_type")
            if value_type not in SCALARS:
                if value_type is None:
                    self._require_received((name,))
                value = fallback.convert(raw, name, message, type(self)._from_raw)
            elif value_type != case:
                shape.cases[name] = shape.case = value_type
                value = getattr(message, value_type)
        del message
        split.parsed.append(parsed)
        if split.is_watched and ENTITY_COUNTS in originals:
            originals[ENTITY_COUNTS].decode((name,))
        # Of two threads that decoded the same property, both get the object of the first.
        value = originals.setdefault(name, value)
        # An assignment or deletion meanwhile stays. Not keep(), which takes too long here.
        if _found(self, name) is UNDECODED:
            _store(self, name, value)
        return value

    _decode = __getitem__


def _known_name(ordinals: dict[str, int], name: str) -> str:
    return next((known for known in ordinals if known == name), name)
