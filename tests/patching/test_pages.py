"""Pages of a query, reached in ``map``, do what pages of google-api-core do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.api_core.page_iterator import Page

from lazyentity.patches.pages import LazyPage, lazy_page

ITEMS = ["1", "2", "x", "4"]


def _convert(parent: object, item: str) -> tuple[object, int]:
    return parent, int(item)


def _page(items: Any = ITEMS) -> Any:
    return Page("parent", list(items), _convert, raw_page="raw")


def _outcomes(steps: Iterator[Any]) -> list[Any]:
    """What ``next()`` gives or raises until there is nothing more."""
    outcomes: list[Any] = []
    while True:
        try:
            outcomes.append(next(steps))
        except StopIteration:
            return outcomes
        except ValueError as error:
            outcomes.append(str(error))


WAYS: dict[str, Callable[[Any], list[Any]]] = {
    "next(page)": _outcomes,
    "iter(page)": lambda page: _outcomes(iter(page)),
    "both": lambda page: [next(page), *_outcomes(iter(page))],
    "two iterators": lambda page: [next(iter(page)), *_outcomes(iter(page))],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_same_items(way: Callable[[Any], list[Any]]) -> None:
    """The same items and errors, in the same order; an error does not end the iteration."""
    page = lazy_page(_page())
    assert type(page) is LazyPage
    assert isinstance(page, Page)
    assert way(page) == way(_page())


def test_same_counts() -> None:
    """What is left is known after each item."""
    page, stock = lazy_page(_page("123")), _page("123")
    assert page.num_items == stock.num_items == 3
    assert page.raw_page == stock.raw_page == "raw"
    assert page.remaining == stock.remaining == 3
    for _ in zip(page, stock, strict=True):
        assert page.remaining == stock.remaining
    assert page.remaining == stock.remaining == 0


def test_an_item_that_cannot_be_converted_is_gone() -> None:
    """Upstream counts it for ever after."""
    page, stock = lazy_page(_page("1x")), _page("1x")
    assert _outcomes(iter(page)) == _outcomes(iter(stock))
    assert page.remaining == 0
    assert stock.remaining == 1


class _OtherPage(Page):
    pass


def _with_an_attribute_more() -> Any:
    page = _page()
    page.note = "new"
    return page


OTHERS: dict[str, Callable[[], Any]] = {
    "subclass": lambda: _OtherPage("parent", ITEMS, _convert),  # type: ignore[no-untyped-call]  # upstream is untyped
    "attribute": _with_an_attribute_more,
    "items": lambda: Page("parent", {"1": 1}, _convert),
    "no page": lambda: None,
}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
def test_other_pages_are_left_alone(make: Callable[[], Any]) -> None:
    """What is not made as google-api-core makes it is none of ours."""
    page = make()
    kind = type(page)
    assert lazy_page(page) is page
    assert type(page) is kind
