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


def _roll_back() -> Any:
    def fail() -> None:
        book = _book()
        book.title = "never"
        book.put()
        raise db.Rollback

    return db.run_in_transaction(fail), _book()


def _delete() -> Any:
    book = _book()
    book.delete()
    return book.is_saved(), book, _book(), book.put(), _book()


def _note() -> Any:
    note = Note.get_by_key_name("n")
    note.another = "one"
    del note.loose
    note.put()
    return note, Note.get_by_key_name("n"), datastore.Get(note.key())


def _page() -> Any:
    query = Book.all().order("pages")
    first = query.fetch(2)
    return first, query.with_cursor(query.cursor()).fetch(2)


def _async() -> Any:
    future = db.get_async([_book(1).key(), _book(2).key()])
    books = future.get_result()
    for book in books:
        book.title += "!"
    return db.put_async(books).get_result(), db.get([book.key() for book in books])


SCENARIOS: dict[str, Callable[[], Any]] = {
    "get": _book,
    "get of several": lambda: db.get([_book(1).key(), _book(2).key(), db.Key.from_path("Book", 9)]),
    "get of the class": lambda: Book.get(_book().key()),
    "get of another class": lambda: Author.get(_book().key()),
    "get_by_id": lambda: Book.get_by_id([1, 9], parent=db.Key.from_path("Shelf", 1)),
    "get_by_key_name": lambda: Author.get_by_key_name("a"),
    "get_or_insert of an old one": lambda: Author.get_or_insert("a", name="other"),
    "get_or_insert of a new one": lambda: [
        Author.get_or_insert("b", name="B"),
        Author.all().fetch(9),
    ],
    "query": lambda: list(Book.all().filter("pages >", 1).order("-pages")),
    "first": lambda: Book.all().order("title").get(),
    "count": lambda: Book.all().count(),
    "keys only": lambda: list(Book.all(keys_only=True).order("pages")),
    "projection": lambda: list(
        db.Query(Book, projection=["title", "tags", "printed"]).order("title")
    ),
    "projection is refused": lambda: db.Query(Book, projection=["title"]).get().put(),
    "no kind": lambda: list(db.Query().ancestor(db.Key.from_path("Shelf", 1))),
    "gql": lambda: list(db.GqlQuery("SELECT * FROM Book WHERE pages < :1 ORDER BY pages", 3)),
    "gql of a class": lambda: Book.gql("WHERE tags = :t", t="4").fetch(5),
    "descendants": lambda: list(db.query_descendants(_book())),
    "pages": _page,
    "dereferenced": lambda: [_book().author.name, _book().sequel.sequel.title, _book().author],
    "not dereferenced": lambda: Book.author.get_value_for_datastore(_book()),
    "collection": lambda: [book.title for book in _book().author.books.order("title")],
    "collection of itself": lambda: list(_book().prequels),
    "missing reference": lambda: [Author.get_by_key_name("a").delete(), _book().author],
    "parent": lambda: [_book().parent_key(), _book().parent()],
    "change": _changed,
    "change in a transaction": _changed_in_transaction,
    "rolled back": _roll_back,
    "deleted": _delete,
    "put unread": lambda: [_book().put(), _book()],
    "expando": _note,
    "expandos": lambda: list(Note.all()),
    "hierarchy": lambda: [*Shape.all().order("name"), *Circle.all(), *Circle.gql("")],
    "class of a hierarchy": lambda: [Circle.get_by_key_name("c"), Circle.get_by_key_name("s")],
    "async": _async,
    "to_dict": lambda: db.to_dict(_book()),
    "to_dict into another": lambda: db.to_dict(_book(), {"more": 1}),
    "xml": lambda: _book().to_xml(),
    "message": lambda: db.model_from_protobuf(db.model_to_protobuf(_book())),
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
