"""google-cloud-datastore: objects that yield entities later, and values without entities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.api_core.page_iterator import Iterator
from google.cloud.datastore.helpers import GeoPoint
from google.cloud.datastore.key import Key
from proto.datetime_helpers import DatetimeWithNanoseconds

from lazyentity._alive import makes_entities_later
from lazyentity.search import LEAVES, children_of, decoded_in_place

LEAVES.update((DatetimeWithNanoseconds, GeoPoint, Key))


class _Decoded:
    """Converts a result of the client to an entity, and decodes it."""

    def __init__(self, item_to_value: Callable[[Any, Any], Any]) -> None:
        self._item_to_value = item_to_value

    def __call__(self, iterator: Any, item: Any) -> Any:
        return decoded_in_place(self._item_to_value(iterator, item))


@children_of.register
def _nothing_yet(iterator: Iterator) -> tuple[()]:
    if type(iterator.item_to_value) is not _Decoded:
        iterator.item_to_value = _Decoded(iterator.item_to_value)
    return ()


makes_entities_later(Iterator)
