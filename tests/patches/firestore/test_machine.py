"""Sequences of reads, writes and changes of the patch: every result is the stock client's."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import lazyentity
from lazyentity.patches.firestore.seams import CLIENT
from tests.patches.firestore.describing import outcome
from tests.patches.firestore.reading import WHEN
from tests.patches.firestore.server import DocumentServer
from tests.patches.firestore.sides import SIDES

_NAMES = "one", "two", "three"
_names = st.sampled_from(_NAMES)
_paths = st.sampled_from(["a", "b", "a.b", "a.b.c", "nope", "b.x"])
_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.just(WHEN),
    st.just(firestore.GeoPoint(1.5, 2.5)),
)
_values = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        # Firestore has no arrays in arrays.
        st.lists(_leaves, max_size=3),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    ),
    max_leaves=6,
)
_documents = st.dictionaries(st.sampled_from("abc"), _values, max_size=3)


def _get(side: Any, number: int) -> Any:
    return [side.one(side.client.document(f"things/{_NAMES[number % 3]}").get)]


def _get_all(side: Any, _: int) -> Any:
    references = [side.client.document(f"things/{name}") for name in _NAMES]
    return side.all(lambda: side.client.get_all(references))


def _query(side: Any, number: int) -> Any:
    found = side.client.collection("things").where(filter=FieldFilter("c", ">", number))
    return side.all(found.order_by("c").stream)


def _query_all(side: Any, _: int) -> Any:
    return side.all(side.client.collection("things").stream)


class Documents(RuleBasedStateMachine):
    """The same steps by two clients of two servers, one of which is patched at times.

    Reads of the stock client come first, with nothing patched; then the same reads are repeated.
    """

    def __init__(self) -> None:
        super().__init__()
        self._stack = contextlib.ExitStack()
        self._sides = [self._side(), self._side()]
        self._held: list[list[Any]] = [[], []]
        self._is_patched, self._is_eager = True, False

    _kind: Any = firestore.Client

    def _side(self) -> Any:
        server = self._stack.enter_context(DocumentServer())
        client = self._kind(project="p", credentials=AnonymousCredentials())
        client._emulator_host = f"127.0.0.1:{server.port}"
        side: Any = SIDES[self._kind](client)
        self._stack.callback(side.close)
        return side

    def teardown(self) -> None:
        self._stack.close()

    def _both(self, work: Callable[[Any, list[Any]], Any]) -> None:
        stock, other = self._sides
        expected = outcome(lambda: work(stock, self._held[0]))
        if self._is_patched:
            CLIENT.patch.apply()
            assert CLIENT.is_intact()
        try:
            with lazyentity.eager() if self._is_eager else contextlib.nullcontext():
                found = outcome(lambda: work(other, self._held[1]))
        finally:
            CLIENT.patch.revert()
        assert found == expected

    @initialize()
    def some_documents(self) -> None:
        for name, document in (("one", {"a": {"b": 1}}), ("two", {"a": [1, None]})):
            self.write(name, document)

    @rule(is_patched=st.booleans(), is_eager=st.booleans())
    def change_the_patch(self, is_patched: bool, is_eager: bool) -> None:
        self._is_patched, self._is_eager = is_patched, is_eager

    @rule(how=st.sampled_from(["set", "create", "merge"]), name=_names, document=_documents)
    def write(self, name: str, document: dict[str, Any], how: str = "set") -> None:
        method, options = (how, {}) if how != "merge" else ("set", {"merge": True})

        def work(side: Any, _: Any) -> Any:
            write = getattr(side.client.document(f"things/{name}"), method)
            return type(side.one(lambda: write(document, **options)))

        self._both(work)

    @rule(name=_names, path=st.sampled_from(["a", "a.b", "c"]), value=_values)
    def update(self, name: str, path: str, value: Any) -> None:
        def work(side: Any, _: Any) -> Any:
            reference = side.client.document(f"things/{name}")
            return type(side.one(lambda: reference.update({path: value})))

        self._both(work)

    @rule(documents=st.dictionaries(_names, _documents, max_size=3), is_bulk=st.booleans())
    def write_several(self, documents: dict[str, dict[str, Any]], is_bulk: bool) -> None:
        def work(side: Any, _: Any) -> Any:
            client = side.client
            if is_bulk and self._kind is firestore.Client:
                writer = client.bulk_writer()
                for name, document in documents.items():
                    writer.set(client.document(f"things/{name}"), document)
                return writer.close()
            batch = client.batch()
            for name, document in documents.items():
                batch.set(client.document(f"things/{name}"), document)
                batch.update(client.document(f"things/{name}"), {"a": 1, "b": document})
            return len(side.one(batch.commit))

        self._both(work)

    @rule(name=_names)
    def delete(self, name: str) -> None:
        self._both(lambda side, _: type(side.one(side.client.document(f"things/{name}").delete)))

    @rule(read=st.sampled_from([_get, _get_all, _query, _query_all]), number=st.integers(-5, 5))
    def read(self, read: Callable[[Any, int], Any], number: int) -> None:
        self._both(lambda side, held: _kept(held, read(side, number)))

    @rule(at=st.integers(0, 20), path=_paths)
    def read_a_snapshot(self, at: int, path: str) -> None:
        self._both(lambda _, held: held[at % len(held)].get(path) if held else None)

    @rule(at=st.integers(0, 20), other=st.integers(0, 20))
    def compare(self, at: int, other: int) -> None:
        self._both(
            lambda _, held: held[at % len(held)] == held[other % len(held)] if held else None
        )

    @rule(at=st.integers(0, 20), name=_names)
    def write_a_snapshot(self, at: int, name: str) -> None:
        def work(side: Any, held: list[Any]) -> Any:
            if held:
                fields = held[at % len(held)].to_dict() or {}
                side.one(lambda: side.client.document(f"things/{name}").set(fields))

        self._both(work)

    @rule(at=st.integers(0, 20))
    def change_a_dict(self, at: int) -> None:
        """It is the caller's own."""

        def work(_: Any, held: list[Any]) -> Any:
            if not held or held[at % len(held)].to_dict() is None:
                return None
            held[at % len(held)].to_dict().clear()
            return held[at % len(held)].to_dict()

        self._both(work)

    @invariant()
    def held_snapshots_stay(self) -> None:
        """Read with the patch: without, the client's own method decodes them for good."""
        CLIENT.patch.apply()
        try:
            stock, other = ([outcome(each.to_dict) for each in held] for held in self._held)
        finally:
            CLIENT.patch.revert()
        assert other == stock


def _kept(held: list[Any], found: list[Any]) -> Any:
    held += found
    return [(each.id, each.exists, each.update_time, each.to_dict()) for each in found]


class AsyncioDocuments(Documents):
    """The same by asyncio clients."""

    _kind = firestore.AsyncClient


TestDocuments = Documents.TestCase
TestDocuments.settings = settings(max_examples=16, stateful_step_count=20, deadline=None)
TestAsyncioDocuments = AsyncioDocuments.TestCase
TestAsyncioDocuments.settings = TestDocuments.settings
