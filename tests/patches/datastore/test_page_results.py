"""Pages of the results of a response, whose entities get no proxy unless somebody asks for one."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from google.api_core import page_iterator
from google.api_core.page_iterator import Page
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore_v1.types import entity as entity_pb2

import lazyentity
from lazyentity.patches.api.entities import EntityHandle, EntityResult
from lazyentity.patches.api.responses import RunQueryResponse
from lazyentity.patches.datastore.pages import LazyPage
from tests.patches.order_program import KIND


def _iterator(client: datastore.Client) -> Any:
    return client.query(kind=KIND).fetch(limit=3)


@pytest.fixture
def stock(client: datastore.Client) -> list[datastore.Entity]:
    """The entities of the query, as the client itself makes them."""
    return list(_iterator(client))


def test_the_iteration_makes_no_proxies(
    client: datastore.Client, stock: list[datastore.Entity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client's list of entities would have one for each."""
    asked: list[Any] = []
    entity: Any = EntityResult.entity

    def recorded(result: Any) -> Any:
        asked.append(result)
        return entity.__get__(result)

    monkeypatch.setattr(EntityResult, "entity", property(recorded))
    lazyentity.patch()
    assert list(_iterator(client)) == stock
    assert asked == []


def test_a_page_is_read_in_both_ways_at_once(
    client: datastore.Client, stock: list[datastore.Entity]
) -> None:
    """``next(page)``, which makes proxies, and ``iter(page)`` go through the same results."""
    lazyentity.patch()
    page = next(_iterator(client).pages)
    assert type(page) is LazyPage
    assert (page.num_items, page.remaining) == (3, 3)
    first, second = next(page), next(iter(page))
    assert page.remaining == 1
    assert [first, second, *page] == stock
    assert page.remaining == 0
    assert list(page) == []


def test_a_replaced_conversion_gets_entities(
    client: datastore.Client, stock: list[datastore.Entity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is the proxy of the client's message, as ``Page`` of google-api-core gives it."""
    lazyentity.patch()
    page = next(_iterator(client).pages)
    original: Any = helpers.entity_from_protobuf
    seen: list[Any] = []

    def replacement(message: Any) -> Any:
        # That of an embedded entity is upb's.
        if isinstance(message, entity_pb2.Entity):
            seen.append(type(message))
        return original(message)

    monkeypatch.setattr(helpers, "entity_from_protobuf", replacement)
    assert list(page) == stock
    assert seen == [EntityHandle] * 3


def test_the_patch_ends_before_the_page(
    client: datastore.Client, stock: list[datastore.Entity]
) -> None:
    """The client converts the rest of the page, to stock entities."""
    lazyentity.patch()
    page = next(_iterator(client).pages)
    first = next(page)
    lazyentity.unpatch()
    rest = list(page)
    assert [first, *rest] == stock
    assert type(first) is lazyentity.LazyEntity
    assert {type(entity) for entity in rest} == {datastore.Entity}


class _IndexingPage(Page):
    items: Any

    def __init__(self, parent: Any, items: Any, item_to_value: Any) -> None:
        super().__init__(parent, items, item_to_value)  # type: ignore[no-untyped-call]  # upstream is untyped
        self.items = [items[index] for index in range(len(items))]


def test_a_page_of_another_class_gets_entities(
    client: datastore.Client, stock: list[datastore.Entity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application's class in the place of ``Page`` gets the list that the client makes."""
    monkeypatch.setattr(page_iterator, "Page", _IndexingPage)
    lazyentity.patch()
    page = next(_iterator(client).pages)
    assert type(page) is _IndexingPage
    assert {type(item) for item in page.items} == {EntityHandle}
    assert list(page) == stock


def test_a_replaced_constructor_of_pages_gets_entities(
    client: datastore.Client, stock: list[datastore.Entity], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may look at the list that the client makes, and may change it."""
    original: Any = Page.__init__
    seen: list[Any] = []

    def reversing(page: Any, parent: Any, items: Any, *rest: Any) -> None:
        seen.extend(item.key.path[0].id for item in items)
        items.reverse()
        original(page, parent, items, *rest)

    monkeypatch.setattr(Page, "__init__", reversing)
    lazyentity.patch()
    assert list(_iterator(client)) == stock[::-1]
    assert seen == [entity.key.id for entity in stock]


class _CopiedClient(datastore.Client):
    """A client that an application lets itself copy and pickle, as a stand-in."""

    def __reduce__(self) -> Any:
        return str, ("a client",)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda page: pickle.loads(pickle.dumps(page))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_page_is_copied(
    client: datastore.Client, stock: list[datastore.Entity], copied: Callable[[Any], Any]
) -> None:
    """The copy goes on where the page is; a shallow one shares its items with the page."""
    client.__class__ = _CopiedClient
    lazyentity.patch()
    page = next(_iterator(client).pages)
    assert next(page) == stock[0]
    other = copied(page)
    assert (other.num_items, other.remaining) == (3, 2)
    assert list(other) == stock[1:]
    assert list(page) == ([] if copied is copy.copy else stock[1:])


def test_the_items_of_a_page_are_copied(
    client: datastore.Client, stock: list[datastore.Entity]
) -> None:
    """As the client's own iterator over a list: what was taken is not in the copy."""
    lazyentity.patch()
    page: Any = next(_iterator(client).pages)
    next(page)
    items = copy.copy(page._item_iter)
    assert [helpers.entity_from_protobuf(item) for item in items] == stock[1:]
    assert list(page) == stock[1:]


@pytest.mark.parametrize("is_wrapped", [False, True])
def test_the_iterator_ends_in_the_same_state(client: datastore.Client, is_wrapped: bool) -> None:
    """The cursor, the counters and the pages are the client's."""
    names = ("next_page_token", "num_results", "page_number", "_more_results", "_skipped_results")

    def states(asked: datastore.Client) -> list[Any]:
        iterator = _iterator(asked)
        pages = list(map(list, iterator.pages))
        return [pages, *(getattr(iterator, name) for name in names)]

    expected = states(client)
    if is_wrapped:
        client = lazyentity.wrap(client)
    else:
        lazyentity.patch()
    assert states(client) == expected


@pytest.mark.filterwarnings("ignore:Unrecognized MoreResultsType")
def test_an_unexpected_end_raises_as_before(
    client: datastore.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A response that neither ends nor goes on."""
    split: Any = RunQueryResponse._receive

    def receive(response: Any, raw: bytes, reader: Any) -> None:
        split(response, raw, reader)
        response._received.rest.batch.more_results = 99

    monkeypatch.setattr(RunQueryResponse, "_receive", receive)
    lazyentity.patch()
    iterator = _iterator(client)
    with pytest.raises(ValueError, match="Unexpected value returned for `more_results`"):
        next(iterator)
    assert iterator._more_results
    assert iterator.num_results == 0


def test_the_response_keeps_its_results(
    client: datastore.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrapper of the conversion of a response may read it again."""
    kept: list[Any] = []
    receive: Any = RunQueryResponse._receive

    def recorded(response: Any, raw: bytes, reader: Any) -> None:
        kept.append(response)
        receive(response, raw, reader)

    monkeypatch.setattr(RunQueryResponse, "_receive", recorded)
    lazyentity.patch()
    found = list(_iterator(client))
    results = itertools.chain.from_iterable(response.batch.entity_results for response in kept)
    again = [helpers.entity_from_protobuf(result.entity) for result in results]
    assert again == found
