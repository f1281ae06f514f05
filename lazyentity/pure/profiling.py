"""The entities of a response, counted for a profile; the mapping counts reads itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError

from lazyentity.codec.keys import key_message_from_raw
from lazyentity.profiling import observer
from lazyentity.profiling.observer import ENTITY_COUNTS

if TYPE_CHECKING:
    from lazyentity.profiling.counters import CallSiteCounts, ProfileData


class ResponseCounter:
    """The entities of a response: they come to the same site.

    Attributes:
        data: the data that they are counted in.
        is_of_query: as of :class:`~lazyentity._backend.entities.ReadRpc`.
    """

    __slots__ = ("_site", "data", "is_of_query")

    def __init__(self, data: ProfileData, is_of_query: bool) -> None:
        self.data = data
        self.is_of_query = is_of_query
        self._site = data.site()

    def call_site(self, raw: bytes) -> CallSiteCounts:
        """Return the counts of this call site for the kind of a serialised entity."""
        call_site = self.data.call_site(self._site, _kind_of(raw))
        if not self.is_of_query:
            call_site.are_of_queries = False
        return call_site


def _kind_of(raw: bytes) -> str | None:
    """Return the kind of a serialised entity; None if it has no key that can be read."""
    try:
        key = key_message_from_raw(raw)
    except DecodeError:
        return None
    return key.path[-1].kind if key is not None and key.path else None


def _response_counter_of(given: Any, is_of_query: bool) -> ResponseCounter | None:
    # The given one, if another thread ended the profile.
    data = observer.data
    if data is None or (
        given is not None and given.data is data and given.is_of_query == is_of_query
    ):
        return given  # type: ignore[no-any-return]  # a counter
    return ResponseCounter(data, is_of_query)


def count_entity(entity: Any, response_counter: Any, is_of_query: bool = False) -> Any:
    """As :meth:`lazyentity._backend.abc.Backend.count_entity`."""
    taking = _response_counter_of(response_counter, is_of_query)
    raw, shape, split, originals = entity._state
    if taking is not None and ENTITY_COUNTS not in originals:
        call_site = taking.call_site(raw)
        known_shape = None if shape.template is None else shape
        originals[ENTITY_COUNTS] = call_site.add(shape.ordinals, known_shape, len(raw))
        split.is_watched = True
    return taking


def count_eager_entity(raw: bytes, response_counter: Any, is_of_query: bool) -> Any:
    """As :func:`count_entity`, for a serialised entity that became a stock one."""
    taking = _response_counter_of(response_counter, is_of_query)
    if taking is not None:
        taking.call_site(raw).count_eager(len(raw))
    return taking
