"""Pages of a query whose entities are reached without running Python code for each of them.

``Page.__next__`` of google-api-core takes about as long as converting a small entity lazily does.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

from google.api_core import page_iterator

# Bound now, as what LazyPage is made for: somebody may put something else in their place.
_Page: Any = page_iterator.Page
_next, _iter = _Page.__next__, _Page.__iter__

# What Page.__init__ sets. Where it sets something else, pages are left as they are.
_ATTRIBUTES = frozenset(
    ("_item_iter", "_item_to_value", "_num_items", "_parent", "_raw_page", "_remaining")
)

_list_iterator: type = type(iter([]))


class LazyPage(page_iterator.Page):
    """A page that converts its items in ``map``.

    ``next(page)`` and the iterators of a page go through the same items, as they do upstream. An
    item that cannot be converted raises, and does not end the iteration. What is left is told by
    the items themselves; upstream's own count (``_remaining``) is not kept.
    """

    def __iter__(self) -> Iterator[Any]:
        return map(functools.partial(self._item_to_value, self._parent), self._item_iter)

    @property
    def remaining(self) -> int:
        """How many items have not been asked for yet."""
        return operator.length_hint(self._item_iter)


def lazy_page(page: Any) -> Any:
    """Make ``page`` a :class:`LazyPage`, if it is what google-api-core makes; return it."""
    if (
        type(page) is _Page
        and _Page.__next__ is _next
        and _Page.__iter__ is _iter
        and vars(page).keys() == _ATTRIBUTES
        and type(page._item_iter) is _list_iterator
    ):
        page.__class__ = LazyPage
    return page
