"""Pages of a query, iterated by ``map``, behave like pages of google-api-core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
import wrapt
from google.api_core import page_iterator
from google.api_core.page_iterator import Page
from google.cloud import datastore
from google.cloud.datastore import query

import lazyentity
from lazyentity.patches.datastore.pages import LazyPage, lazy_page
from lazyentity.readers import LAZY
from tests.patches.order_program import KIND

ITEMS = ["1", "2", "x", "4"]


def _convert(parent: object, item: str) -> tuple[object, int]:
    return parent, int(item)


def _page(items: Any = ITEMS) -> Any:
    return Page("parent", list(items), _convert, raw_page="raw")


def _outcomes(steps: Iterator[Any]) -> list[Any]:
    """Return the results and errors of ``next()`` until the end."""
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
    """The remaining count is right after each item."""
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
    """Pages that google-api-core did not make are left alone."""
    page = make()
    kind = type(page)
    assert lazy_page(page) is page
    assert type(page) is kind


def test_pages_of_another_class_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """An application's own class in the place of Page stays."""
    monkeypatch.setattr(page_iterator, "Page", _OtherPage)
    assert type(lazy_page(OTHERS["subclass"]())) is _OtherPage


@pytest.mark.parametrize("is_proxy", [False, True])
def test_pages_whose_method_was_replaced(monkeypatch: pytest.MonkeyPatch, is_proxy: bool) -> None:
    """A replaced Page.__next__ sees each item, even if the wrapper equals the method."""
    seen: list[Any] = []
    original: Any = Page.__next__

    def watched(page: Any) -> Any:
        seen.append(original(page))
        return seen[-1]

    def wrapper(_wrapped: Any, page: Any, _args: Any, _options: Any) -> Any:
        return watched(page)

    replacement = wrapt.FunctionWrapper(original, wrapper) if is_proxy else watched
    monkeypatch.setattr(Page, "__next__", replacement)
    assert list(lazy_page(_page("12"))) == seen == [("parent", 1), ("parent", 2)]


class _OtherIterator(query.Iterator):
    kinds: ClassVar[set[type]] = set()

    def _next_page(self) -> Any:
        page = super()._next_page()  # type: ignore[no-untyped-call]  # upstream is untyped
        self.kinds.add(type(page))
        return page


def test_pages_of_other_iterators_are_left_alone(client: datastore.Client) -> None:
    """A subclass of the client's iterator gets the pages that it knows."""
    lazyentity.patch()
    asked: Any = client.query(kind=KIND)
    assert len(list(_OtherIterator(asked, client, limit=2))) == 2  # type: ignore[no-untyped-call]  # as above
    assert _OtherIterator.kinds == {Page, type(None)}


def test_wrapped_iterators_are_called_as_before(client: datastore.Client) -> None:
    """The class of the iterator has upstream's name."""
    iterator: Any = lazyentity.wrap(client).query(kind=KIND).fetch()
    assert isinstance(iterator, query.Iterator)
    assert (type(iterator).__name__, type(iterator).__module__) == ("Iterator", query.__name__)


def test_pages_of_eager_mode(client: datastore.Client) -> None:
    """As in lazy mode: of a subclass, and consumed while they are read."""
    stock = next(client.query(kind=KIND).fetch(limit=3).pages)
    lazyentity.patch(eager=True)
    page = next(client.query(kind=KIND).fetch(limit=3).pages)
    assert type(stock) is Page
    assert type(page) is LazyPage
    assert isinstance(page, Page)
    assert (page.num_items, page.remaining) == (stock.num_items, stock.remaining) == (3, 3)
    assert iter(page) is not page
    first = next(iter(page))
    assert type(first) is datastore.Entity
    assert page.remaining == 2
    assert [first, *page] == list(stock)
    assert page.remaining == 0


def test_an_entity_that_was_changed_is_converted_as_it_is(client: datastore.Client) -> None:
    """A wrapper may change the message of an entity before its page is iterated."""
    iterator: Any = lazyentity.wrap(client).query(kind=KIND).fetch(limit=2, eventual=True)
    page = next(iterator.pages)
    assert type(page) is LazyPage
    changed, untouched = page._item_iter.__reduce__()[1][0]
    changed._pb.properties["added"].string_value = "x"
    first, second = page
    assert first["added"] == "x"
    assert isinstance(first, lazyentity.LazyEntity)
    assert "added" not in second
    assert untouched.read(LAZY) == second
