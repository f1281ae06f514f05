"""References to documents that were read are those that the client makes."""

from __future__ import annotations

from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.patches.firestore import references
from tests.patches.firestore.describing import outcome

CLIENTS: list[Any] = [
    kind(project="p", credentials=AnonymousCredentials())
    for kind in (firestore.Client, firestore.AsyncClient)
]
DATABASE = "projects/p/databases/(default)/documents"
_parts = st.sampled_from(
    ["a", "b", "", "projects", "p", "databases", "(default)", "documents", "ä"]
)


def _told(reference: Any) -> Any:
    return type(reference), vars(reference), reference._document_path, reference.parent._path


@given(parts=st.lists(_parts, min_size=1, max_size=7), document_id=_parts)
def test_in_a_collection(parts: list[str], document_id: str) -> None:
    for client in CLIENTS:
        try:
            collection = client.collection(*parts)
        except ValueError:
            continue
        assert outcome(lambda: _told(references.reference_in(collection, document_id))) == outcome(  # noqa: B023
            lambda: _told(collection.document(document_id))  # noqa: B023
        )


@pytest.mark.parametrize("path", [("",), ("a/b", "c", "d"), ("a", "b/c", "d"), ("a", "b", "c")])
def test_in_a_collection_made_by_hand(path: tuple[str, ...]) -> None:
    """As the client makes one without a name for queries of everything below a document."""
    collection = firestore.CollectionReference(*path, client=CLIENTS[0])
    assert outcome(lambda: _told(references.reference_in(collection, "x"))) == outcome(
        lambda: _told(collection.document("x"))
    )


@given(parts=st.lists(_parts, max_size=7), is_own=st.booleans())
def test_by_name(parts: list[str], is_own: bool) -> None:
    name = "/".join([DATABASE] * is_own + parts)
    for client in CLIENTS:
        assert outcome(lambda: _told(references.reference_of(client, name))) == outcome(  # noqa: B023
            lambda: _told(client.document(name))  # noqa: B023
        )


def test_plain_ones_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaced methods are called; otherwise none is."""
    collection, called = CLIENTS[0].collection("a"), []

    def count(function: Any) -> Any:
        def counted(*args: Any, **kwargs: Any) -> Any:
            called.append(function.__qualname__)
            return function(*args, **kwargs)

        return counted

    base = firestore.Client.__mro__[1]
    monkeypatch.setattr(base, "_document_path_helper", count(base._document_path_helper))  # type: ignore[attr-defined]
    references.reference_in(collection, "x")
    references.reference_of(CLIENTS[0], f"{DATABASE}/a/x")
    assert called == []
    for holder, name in (
        (firestore.Client, "document"),
        (firestore.DocumentReference, "__init__"),
        (firestore.CollectionReference, "document"),
    ):
        called.clear()
        with monkeypatch.context() as replaced:
            replaced.setattr(holder, name, count(getattr(holder, name)))
            references.reference_in(collection, "x")
            # Older versions inherit one of them.
            assert any(each.endswith(f"{holder.__name__}.{name}") for each in called)
