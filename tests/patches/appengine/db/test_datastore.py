"""Reads and writes of models over the in-memory datastore, stock and lazy."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from google.appengine.api import datastore
from google.appengine.ext import db
from google.appengine.ext.db import polymodel

import lazyentity
from tests.patches.appengine.db.pairs import is_lazy, patched, seen


class Author(db.Model):
    """The model that books refer to."""

    name = db.StringProperty(required=True)


class Book(db.Model):
    """A model with one property of most sorts."""

    title = db.StringProperty()
    pages = db.IntegerProperty(default=100)
    body = db.TextProperty()
    tags = db.StringListProperty()
    printed = db.DateProperty()
    author = db.ReferenceProperty(Author, collection_name="books")
    sequel = db.SelfReferenceProperty(collection_name="prequels")
    changed = db.DateTimeProperty(auto_now=True)


class Note(db.Expando):
    """A model with properties that the class does not define."""

    title = db.StringProperty()


class Shape(polymodel.PolyModel):
    """The root of a hierarchy."""

    name = db.StringProperty()


class Circle(Shape):
    """A class of the hierarchy."""

    radius = db.FloatProperty()


def _store() -> None:
    author = Author(key_name="a", name="Ada")
    author.put()
    shelf = db.Key.from_path("Shelf", 1)
    first = None
    for number in range(1, 6):
        key = db.Key.from_path("Book", number, parent=shelf)
        first = Book(
            key=key,
            title=f"Title {number}",
            pages=number,
            body=f"text {number}",
            tags=["x", str(number)],
            printed=datetime.date(2000, 1, number),
            author=author,
            sequel=first,
        )
        first.put()
    Note(key_name="n", title="t", loose="end", many=[1, 2], none=None).put()
    Shape(key_name="s", name="any").put()
    Circle(key_name="c", name="round", radius=1.5).put()


@pytest.fixture
def restored(bed: Any) -> Callable[[], None]:
    """Give a function that stores everything anew."""

    def restore() -> None:
        bed.get_stub("datastore_v3").Clear()
        _store()

    return restore


def _book(number: int = 3) -> Any:
    return db.get(db.Key.from_path("Shelf", 1, "Book", number))


def _changed() -> Any:
    book = _book()
    book.title = "New"
    book.tags.append("new")
    key = book.put()
    return key, book, db.get(key), datastore.Get(key)


def _changed_in_transaction() -> Any:
    def change() -> Any:
        book = _book()
        book.pages += 1
        book.put()
        return book

    return db.run_in_transaction(change), _book()


def _note() -> Any:
    note = Note.get_by_key_name("n")
    note.another = "one"
    del note.loose
    note.put()
    return note, Note.get_by_key_name("n"), datastore.Get(note.key())


def _async() -> Any:
    future = db.get_async([_book(1).key(), _book(2).key()])
    books = future.get_result()
    for book in books:
        book.title += "!"
    return db.put_async(books).get_result(), db.get([book.key() for book in books])


SCENARIOS: dict[str, Callable[[], Any]] = {
    "get of several": lambda: db.get([_book(1).key(), _book(2).key(), db.Key.from_path("Book", 9)]),
    "get of another class": lambda: Author.get(_book().key()),
    "get_or_insert": lambda: [Author.get_or_insert(name, name=name) for name in "ab"],
    "query": lambda: list(Book.all().filter("pages >", 1).order("-pages")),
    "projection": lambda: list(
        db.Query(Book, projection=["title", "tags", "printed"]).order("title")
    ),
    "gql": lambda: list(db.GqlQuery("SELECT * FROM Book WHERE pages < :1 ORDER BY pages", 3)),
    "dereferenced": lambda: [_book().author.name, _book().sequel.sequel.title, _book().author],
    "not dereferenced": lambda: Book.author.get_value_for_datastore(_book()),
    "collection": lambda: [book.title for book in _book().author.books.order("title")],
    "missing reference": lambda: [Author.get_by_key_name("a").delete(), _book().author],
    "change": _changed,
    "change in a transaction": _changed_in_transaction,
    "put unread": lambda: [_book().put(), _book()],
    "expando": _note,
    "hierarchy": lambda: [*Shape.all().order("name"), *Circle.all(), *Circle.gql("")],
    "async": _async,
}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS.keys())
def test_scenario(scenario: Callable[[], Any], restored: Callable[[], None]) -> None:
    """It has the result of stock, lazily and inside eager()."""
    restored()
    stock = seen(scenario)
    restored()
    with patched():
        assert seen(scenario) == stock
    restored()
    with patched(), lazyentity.eager():
        assert seen(scenario) == stock


def test_which_are_lazy(restored: Callable[[], None]) -> None:
    """Models of all reads are, but not inside eager()."""
    restored()
    with patched():
        models = [_book(), *Book.all(), *Shape.all()]
        with lazyentity.eager():
            eager_models = [_book(), *Book.all(), *Shape.all()]
    assert all(map(is_lazy, models))
    assert not any(map(is_lazy, eager_models))
    assert not is_lazy(_book())
