"""Pages of a query whose entities are reached without Python code for each of them.

``Page.__next__`` of google-api-core takes about as long as converting a small entity lazily does,
and so does making the proxy of an entity that the client would convert.
"""

from __future__ import annotations

import copy
import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

from google.api_core import page_iterator
from google.cloud.datastore import helpers
from google.cloud.datastore import query as query_module

from lazyentity._backend import EntityBytes, EntityIterator, EntityReader
from lazyentity.patches.api.entities import HANDLES, EntityHandle
from lazyentity.patches.api.responses import QueryResultBatch, RunQueryResponse
from lazyentity.patches.datastore.reading import read_message
from lazyentity.patches.datastore.seams import CLIENT, CONVERSION
from lazyentity.patches.upstream import is_upstream
from lazyentity.readers import LAZY, STOCK

# Bound now: LazyPage is made for these methods, and somebody may replace them.
_Page: Any = page_iterator.Page
_init, _next, _iter = _Page.__init__, _Page.__next__, _Page.__iter__

# Set by Page.__init__. Where it sets other attributes, pages are left as they are.
_ATTRIBUTES = frozenset(
    ("_item_iter", "_item_to_value", "_num_items", "_parent", "_raw_page", "_remaining")
)

_UNOPENED = {EntityHandle}
_ITERATORS: tuple[type, ...] = (type(iter([])), EntityIterator)


def _read_item(reader: EntityReader, _iterator: Any, message: Any) -> Any:
    return read_message(message, reader)


def item_to_entity(reader: EntityReader) -> Callable[[Any, Any], Any]:
    """Return a function of an iterator and a message, as the iterators of the client have it."""
    return functools.partial(_read_item, reader)


def _reader_of(item_to_value: Any) -> EntityReader | None:
    """Return the reader of a function that :func:`item_to_entity` made; None for others."""
    if type(item_to_value) is functools.partial and item_to_value.func is _read_item:
        reader: EntityReader = item_to_value.args[0]
        return reader
    return None


def _readers_of_patch() -> Iterator[EntityReader]:
    """Give the reader of each entity: the patch may be gone before the page is.

    No generator: an exception that a signal handler raises would end it, and with it the page.
    """
    # By methods of dicts: CPython calls these without making a tuple of their arguments.
    is_lazy = map(vars(CLIENT.patch).__getitem__, itertools.repeat("is_lazy"))
    return map({False: STOCK, True: LAZY}.__getitem__, is_lazy)


def _row(handle: Any, reader: EntityReader) -> Any:
    return handle.to_unboxed(reader)


class LazyPage(page_iterator.Page):
    """A page that converts its items in ``map``.

    ``next(page)`` and the iterators of a page go through the same items, as they do upstream. An
    item that cannot be converted raises, and does not end the iteration. The remaining items are
    counted themselves; upstream's own count (``_remaining``) is not kept.
    """

    def __iter__(self) -> Iterator[Any]:
        readers, items = self._readers(), self._item_iter
        if readers is not None and type(items) is EntityIterator:
            return map(items.read_next, readers)
        if readers is not None and set(map(type, copy.copy(items))) <= _UNOPENED:
            return map(EntityBytes.read, items, readers)
        return map(functools.partial(self._item_to_value, self._parent), items)

    def unboxed(self) -> Iterator[Any]:
        """As ``iter(page)``, with rows in place of entities that only the page's reader sees."""
        readers, items = self._readers(), self._item_iter
        if readers is not None and (
            type(items) is EntityIterator or set(map(type, copy.copy(items))) <= HANDLES
        ):
            return map(_row, items, readers)
        return iter(self)

    def _readers(self) -> Iterator[EntityReader] | None:
        """Return the reader of each item; None, if other code converts them."""
        reader = _reader_of(self._item_to_value)
        if reader is not None:
            return itertools.repeat(reader)
        return _readers_of_patch() if self._converts_by_patch() else None

    def _converts_by_patch(self) -> bool:
        return (
            is_upstream(self._item_to_value, query_module)
            and CLIENT.patch.active
            # Somebody else may have replaced the conversion after us.
            and helpers.entity_from_protobuf is CONVERSION.replacement
        )

    @property
    def remaining(self) -> int:
        """How many items have not been asked for yet."""
        return operator.length_hint(self._item_iter)


def page_of(iterator: Any, response: Any) -> Any:
    """Make the page of a response to a query, as ``Iterator._next_page`` does.

    Args:
        iterator: of the client, or of a wrapped query.
        response: lazy, or the client's own.
    """
    received = None
    if (
        type(response) is RunQueryResponse
        and page_iterator.Page is _Page
        and _Page.__init__ is _init
    ):
        received = response.batch._entities
        response = SimpleNamespace(batch=QueryResultBatch.of(response._received, None))
    # The method makes a list of the entities, and sets the attributes for the page to come.
    entities = iterator._process_query_results(response)
    return page_iterator.Page(iterator, received or entities, iterator.item_to_value)


def lazy_page(page: Any) -> Any:
    """Make ``page`` a :class:`LazyPage`, if it is what google-api-core makes; return it."""
    if (
        type(page) is _Page
        and _Page.__next__ is _next
        and _Page.__iter__ is _iter
        and vars(page).keys() == _ATTRIBUTES
        and type(page._item_iter) in _ITERATORS
    ):
        page.__class__ = LazyPage
    return page
