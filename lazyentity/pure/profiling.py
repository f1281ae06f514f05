"""The pure backend's counts of a profile: its functions, replaced by ones that count.

:mod:`lazyentity.profiling.counters` keeps the counts. While no profile runs, nothing of this
is in place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from lazyentity.codec import messages
from lazyentity.codec.keys import key_message_from_raw
from lazyentity.codec.undecoded import UNDECODED
from lazyentity.profiling import observer
from lazyentity.profiling.observer import ENTITY_COUNTS, while_running
from lazyentity.pure import columns, responses
from lazyentity.pure.mapping import LazyMapping

if TYPE_CHECKING:
    from lazyentity.profiling.counters import CallSiteCounts, ProfileData

_stored = dict.__getitem__


class ResponseCounter:
    """The entities of one response: they come to the same site.

    Attributes:
        data: the data that they are counted in.
        is_of_query: as of :class:`~lazyentity.pure.responses.ReadRpc`.
    """

    __slots__ = ("_call_site", "_prefix", "_site", "data", "is_of_query")

    def __init__(self, data: ProfileData, is_of_query: bool) -> None:
        self.data = data
        self.is_of_query = is_of_query
        self._site = data.site()
        self._prefix: bytes | None = None
        self._call_site: CallSiteCounts | None = None

    def call_site(self, raw: bytes) -> CallSiteCounts:
        """Return the counts of this call site for the kind of a serialised entity."""
        if self._call_site is None or self._prefix is None or not raw.startswith(self._prefix):
            kind, self._prefix = _kind_of(raw)
            self._call_site = self.data.call_site(self._site, kind)
            if not self.is_of_query:
                self._call_site.are_of_queries = False
        return self._call_site


def _kind_of(raw: bytes) -> tuple[str | None, bytes | None]:
    """Return the kind of a serialised entity.

    Returns:
        The kind, and the bytes that begin every entity whose key has the same kinds and lengths;
        None, if there are none.
    """
    try:
        key = key_message_from_raw(raw)
    except DecodeError:
        return None, None
    if key is None or not key.path:
        return None, None
    element = key.path[-1]
    # The client's encoding: the kind comes first in the last element, and that ends the key.
    tail = element.SerializeToString()
    end = len(raw) if raw.find(tail) < 0 else raw.find(tail) + len(tail)
    named = messages.Key.PathElement(kind=element.kind).SerializeToString()
    begins = messages.Entity(key=key).SerializeToString()
    if begins != raw[:end] or not tail.startswith(named):
        return element.kind, None
    return element.kind, raw[: end - len(tail) + len(named)]


def _response_counter_of(data: ProfileData, given: Any, is_of_query: bool) -> ResponseCounter:
    if given is not None and given.data is data and given.is_of_query == is_of_query:
        return given  # type: ignore[no-any-return]  # a counter
    return ResponseCounter(data, is_of_query)


def count_entity(entity: Any, response_counter: Any, is_of_query: bool = False) -> Any:
    """Count an entity that was just made, if a profile runs.

    Args:
        entity: a lazy entity of this backend.
        response_counter: as this returned it for the response's last entity; None for its first.
        is_of_query: as of :class:`~lazyentity.pure.responses.ReadRpc`.

    Returns:
        The counter for the next entity of the response.
    """
    data = observer.data
    if data is None:
        return response_counter
    taking = _response_counter_of(data, response_counter, is_of_query)
    raw, shape, _, originals = entity._state
    if ENTITY_COUNTS not in originals:
        counter = taking.call_site(raw).counter
        known_shape = None if shape.template is None else shape
        originals[ENTITY_COUNTS] = counter.add(shape.ordinals, known_shape, len(raw))
    return taking


def _reading_entities(original: Any) -> Callable[[Any, Any, bytes], Any]:
    def _read(rpc: Any, reader: Any, raw: bytes) -> Any:
        chosen = rpc.reader or reader
        entity = chosen._make(raw)
        # Before it is prepared: what that decodes is counted.
        if chosen.is_stock:
            _count_eager(raw, rpc)
        else:
            rpc._counter = count_entity(entity, rpc._counter, rpc.is_of_query)
        return entity if chosen.prepare is None else chosen.prepare(entity)

    return _read


def _count_eager(raw: bytes, rpc: Any) -> None:
    data = observer.data
    if data is not None:
        rpc._counter = _response_counter_of(data, rpc._counter, rpc.is_of_query)
        rpc._counter.call_site(raw).count_eager(len(raw))


def _reading(original: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def __getitem__(self: Any, name: Any, /) -> Any:  # noqa: N807  # its name
        value = _stored(self, name)
        if value is not UNDECODED:
            return value
        value = original(self, name)
        entity_counts = self._state[3].get(ENTITY_COUNTS)
        if entity_counts is not None:
            entity_counts.read(name, sys._getframe(1))
        return value

    return __getitem__


def _converting(original: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    def _convert(self: Any, name: str) -> Any:
        value = original(self, name)
        if self._entity_counts is not None:
            self._entity_counts.read(name)
        return value

    return _convert


def _decoding_all(original: Callable[[Any, str], None]) -> Callable[[Any, str], None]:
    def _decode_all(self: Any, operation: str) -> None:
        entity_counts = self._entity_counts
        undecoded = [] if entity_counts is None else self._undecoded()
        original(self, operation)
        if undecoded:
            entity_counts.read_whole(undecoded, operation)

    return _decode_all


def _giving_plain_values(original: Callable[..., Any]) -> Callable[..., Any]:
    def _plain_values(self: Any, names: Iterable[str], copy: Callable[[Any], Any]) -> Any:
        entity_counts = self._entity_counts
        if entity_counts is None:
            return original(self, names, copy)
        undecoded = self._undecoded()
        decoded = [name for name in undecoded if not names or name in names]
        plain = original(self, names, copy)
        if decoded and not names:
            entity_counts.copied_whole(decoded, "to_dict()")
        elif decoded:
            entity_counts.copied(decoded)
        return plain

    return _plain_values


def _giving_values(original: Callable[..., Any]) -> Callable[..., Any]:
    def _values(entity: Any, names: tuple[str, ...], copy: Callable[[Any], Any]) -> Any:
        entity_counts = entity._entity_counts
        undecoded = () if entity_counts is None else set(entity._undecoded())
        values = original(entity, names, copy)
        if entity_counts is not None:
            entity_counts.copied_to_columns([name for name in names if name in undecoded])
        return values

    return _values


while_running(columns, "_values", _giving_values)
while_running(responses, "_read", _reading_entities)
while_running(LazyMapping, "__getitem__", _reading)
while_running(LazyMapping, "_decode", _reading)
while_running(LazyMapping, "_convert", _converting)
while_running(LazyMapping, "_decode_all", _decoding_all)
while_running(LazyMapping, "_plain_values", _giving_plain_values)
