"""Queries that are read for columns: no object of an entity is made that nobody sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.api_core import page_iterator

from lazyentity.patches.datastore.pages import LazyPage
from lazyentity.patches.upstream import is_upstream

_ITERATION = ("__iter__", "_items_iter", "_page_iter")


def unboxed_of_query(iterator: Any) -> Iterator[Any]:
    """Return an iterator over the entities of a query most of which are unboxed.

    Args:
        iterator: of the client, or of a wrapped query.

    Raises:
        ValueError: if it was started already, as ``iter(iterator)`` raises it.
    """
    items: Iterator[Any] = iter(iterator)
    return _unboxed(iterator) if _iterates_as_known(iterator) else items


def _iterates_as_known(iterator: Any) -> bool:
    # Code that somebody puts around the iteration is to see entities.
    return vars(iterator).keys().isdisjoint(_ITERATION) and all(
        is_upstream(getattr(type(iterator), name, None), page_iterator) for name in _ITERATION
    )


def _unboxed(iterator: Any) -> Iterator[Any]:
    # As Iterator._items_iter() upstream, which counts an entity once it was converted.
    for page in iterator._page_iter(increment=False):
        for entity in page.unboxed() if type(page) is LazyPage else page:
            iterator.num_results += 1
            yield entity
