"""wrap(..., prefetch=, strict=): properties decoded with the entity, and those allowed later."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore.query import PropertyFilter, Query

import lazyentity
from lazyentity.codec import messages
from tests.patches.conftest import Make
from tests.patches.order_program import COUNT, KIND, read
from tests.support.describing import describe, entity_types

Client = datastore.Client

Reads = Callable[[Any], list[Any]]


def keys(client: Client) -> list[Any]:
    return [client.key(KIND, number + 1) for number in range(COUNT)]


READS: dict[str, Reads] = {
    "get": lambda client: [client.get(key) for key in keys(client)],
    "get_multi": lambda client: client.get_multi(keys(client)),
    "fetch": lambda client: list(client.query(kind=KIND).fetch()),
    "next": lambda client: [next(iter(client.query(kind=KIND).fetch()))] * COUNT,
    "pages": lambda client: [
        entity for page in client.query(kind=KIND).fetch().pages for entity in page
    ],
    "projection": lambda client: list(
        client.query(kind=KIND, projection=["number", "parity"]).fetch()
    ),
    "another client": lambda client: list(client.query(kind=KIND).fetch(client=client)),
    "in a transaction": lambda client: _read_in_transaction(client),
}


def _read_in_transaction(client: Any) -> list[Any]:
    with client.transaction():
        found: list[Any] = client.get_multi(keys(client))
        return found


@pytest.fixture(params=list(READS))
def reads(request: pytest.FixtureRequest) -> Reads:
    return READS[request.param]


@pytest.fixture(params=[False, True], ids=["unpatched", "patched"])
def patched(request: pytest.FixtureRequest, _stock_before_and_after: None) -> bool:
    if request.param:
        lazyentity.patch()
    return bool(request.param)


@pytest.fixture
def query(client: Client) -> Query:
    made: Query = client.query(kind=KIND, order=["__key__"])
    return made


class TestPrefetch:
    """prefetch=."""

    def test_decodes_what_is_named(self, client: Client, reads: Reads, patched: bool) -> None:
        """Every entity with the property has it decoded, and nothing else."""
        entities = reads(lazyentity.wrap(client, prefetch=["number", "parity", "absent"]))
        assert len(entities) == COUNT
        for entity in entities:
            assert type(entity) is lazyentity.LazyEntity
            assert set(lazyentity.decoded(entity)) == {"number", "parity"}

    def test_contents_are_the_same(
        self, client: Client, stock_contents: Any, patched: bool
    ) -> None:
        wrapped = lazyentity.wrap(client, prefetch=["list", "inner", "meant"])
        assert read(wrapped) == {"classes": ["LazyEntity"], "contents": stock_contents}

    def test_of_a_query(self, query: Query, patched: bool) -> None:
        for entity in lazyentity.wrap(query, prefetch=("number",)).fetch():
            assert lazyentity.decoded(entity) == ("number",)

    def test_any_iterable_of_names(self, query: Query) -> None:
        for names in ({"number"}, ("number",), iter(["number"]), {"number": 1}.keys()):
            wrapped = lazyentity.wrap(query, prefetch=names)
            for _ in range(2):
                assert {lazyentity.decoded(entity) for entity in wrapped.fetch()} == {("number",)}

    def test_of_missing_entities(self, client: Client) -> None:
        """These have no properties; that is not an error."""
        missing: list[Any] = []
        wrapped = lazyentity.wrap(client, prefetch=["number"], strict=True)
        assert wrapped.get_multi([client.key(KIND, 1000)], missing=missing) == []
        assert [entity.key.id for entity in missing] == [1000]

    def test_what_cannot_be_decoded_is_raised(self, query: Query) -> None:
        """Where the entity would have been handed out."""
        malformed = messages.Entity()
        malformed.properties["number"].Clear()
        iterator = lazyentity.wrap(query, prefetch=["number"]).fetch()
        with pytest.raises(ValueError, match="did not have any value set"):
            iterator.item_to_value(iterator, malformed)
        iterator = lazyentity.wrap(query, prefetch=["parity"]).fetch()
        assert list(iterator.item_to_value(iterator, malformed)) == ["number"]

    @pytest.mark.parametrize(
        ("given", "named"),
        [
            ("number", r"a list of names, not one: \['number'\]"),
            (None, "not NoneType"),
            (1, "not int"),
            (b"number", "names of type str in prefetch=, not 110"),
            (["number", None], "names of type str in prefetch=, not None"),
        ],
    )
    def test_anything_else_is_refused(self, query: Query, given: Any, named: str) -> None:
        with pytest.raises(TypeError, match=rf"^wrap\(\) takes .*{named}"):
            lazyentity.wrap(query, prefetch=given)


class TestStrict:
    """strict=True."""

    def test_refuses_everything_else(self, client: Client, reads: Reads, patched: bool) -> None:
        for entity in reads(lazyentity.wrap(client, prefetch=["number"], strict=True)):
            assert isinstance(entity, lazyentity.LazyEntity)
            assert entity["number"] in range(COUNT + 1)
            with pytest.raises(RuntimeError, match="property 'parity'") as refused:
                entity["parity"]
            assert repr(entity.key) in str(refused.value)
            with pytest.raises(RuntimeError, match="not prefetched"):
                entity.items()

    def test_of_a_query(self, query: Query, patched: bool) -> None:
        for entity in lazyentity.wrap(query, strict=True).fetch():
            with pytest.raises(RuntimeError, match="property 'number'"):
                entity["number"]
            lazyentity.prefetch(entity, "number")
            assert entity["number"] == entity.key.id

    def test_what_is_embedded_reads_normally(self, query: Query) -> None:
        for entity in lazyentity.wrap(query, prefetch=["inner", "list"], strict=True).fetch():
            assert entity["inner"]["numbers"] == [1, 2]
            assert entity["list"][-1]["deeper"]["at"].year == 2024

    @pytest.mark.parametrize("how", ["put", "batch", "transaction"])
    def test_is_written(self, make: Make, transport: str, patched: bool, how: str) -> None:
        """By the wrapped client and by the one that was wrapped; nothing is lost."""
        client = make(namespace=f"strict-{transport}-{how}")
        stored = datastore.Entity(client.key("Kept", 1), exclude_from_indexes=("long",))
        stored.update({"value": 1, "long": "x" * 2000, "list": [1, 2]})
        for writer in (client, lazyentity.wrap(client)):
            client.put(stored)
            wrapped = lazyentity.wrap(client, prefetch=["value"], strict=True)
            entity = wrapped.get(stored.key)
            entity["value"] += 1
            if how == "put":
                writer.put(entity)
            else:
                with getattr(writer, how)() as open_batch:
                    open_batch.put(entity)
            with lazyentity.eager():
                now = client.get(stored.key)
            assert dict(now) == {**stored, "value": 2}
            assert now.exclude_from_indexes == {"long"}
            with pytest.raises(RuntimeError, match="not prefetched"):
                entity["long"]


class TestOptions:
    """Whose the options are."""

    def test_eager_overrules(self, client: Client, query: Query, stock_contents: Any) -> None:
        options: Any = {"prefetch": ["number"], "strict": True}
        with lazyentity.eager():
            entities = list(lazyentity.wrap(query, **options).fetch())
            contents = read(lazyentity.wrap(client, **options))
        assert entity_types(entities) == {"Entity"}
        assert describe(entities) == stock_contents["fetch"]
        assert contents == {"classes": ["Entity"], "contents": stock_contents}

    def test_nothing_else_has_them(self, client: Client, query: Query, stock_contents: Any) -> None:
        lazyentity.wrap(client, prefetch=["number"], strict=True)
        lazyentity.wrap(query, prefetch=["number"], strict=True)
        assert read(client) == {"classes": ["Entity"], "contents": stock_contents}
        assert read(lazyentity.wrap(client))["contents"] == stock_contents
        assert {lazyentity.decoded(one) for one in lazyentity.wrap(query).fetch()} == {()}

    def test_wrapping_again(self, query: Query) -> None:
        """The result has the options given for it; the first one keeps its own."""
        plain = lazyentity.wrap(query)
        first = lazyentity.wrap(plain, prefetch=["number"], strict=True)
        second = lazyentity.wrap(first, prefetch=["parity"])
        assert lazyentity.wrap(first) is first
        assert lazyentity.wrap(second, prefetch=[], strict=False) is second
        assert type(plain) is type(first) is type(second)
        for wrapped, decoded in ((plain, ()), (first, ("number",)), (second, ("parity",))):
            for entity in wrapped.fetch():
                assert lazyentity.decoded(entity) == decoded
        with pytest.raises(RuntimeError, match="not prefetched"):
            next(iter(first.fetch()))["parity"]
        assert next(iter(second.fetch()))["number"] == 1

    def test_wrapping_a_client_again(self, client: Client) -> None:
        first = lazyentity.wrap(client, prefetch=["number"])
        second = lazyentity.wrap(first, strict=True)
        assert lazyentity.decoded(first.get(client.key(KIND, 1))) == ("number",)
        assert lazyentity.decoded(second.get(client.key(KIND, 1))) == ()
        assert first._datastore_api is second._datastore_api

    def test_state_is_still_shared(self, query: Query) -> None:
        wrapped = [
            lazyentity.wrap(query),
            lazyentity.wrap(query, prefetch=["number"]),
            lazyentity.wrap(lazyentity.wrap(query, prefetch=["number"]), strict=True),
        ]
        wrapped[1].add_filter(filter=PropertyFilter("number", ">", 1))
        query.add_filter(filter=PropertyFilter("number", "<", 3))
        for one in (query, *wrapped):
            assert [entity.key.id for entity in one.fetch()] == [2]
            assert vars(one) is vars(query)

    def test_a_query_of_a_wrapped_client_can_have_its_own(self, client: Client) -> None:
        wrapped = lazyentity.wrap(client, prefetch=["number"])
        query = wrapped.query(kind=KIND)
        other = lazyentity.wrap(query, prefetch=["parity"])
        assert {lazyentity.decoded(entity) for entity in query.fetch()} == {("number",)}
        assert {lazyentity.decoded(entity) for entity in other.fetch()} == {("parity",)}

    def test_a_copy_of_a_query_has_them(self, query: Query) -> None:
        copied = copy.copy(lazyentity.wrap(query, prefetch=["number"]))
        assert {lazyentity.decoded(entity) for entity in copied.fetch()} == {("number",)}

    def test_of_subclasses(self, make: Make) -> None:
        class Mine(datastore.Client):
            def get_multi(self, *args: Any, **kwargs: Any) -> Any:
                return super().get_multi(*args, **kwargs)  # type: ignore[no-untyped-call]  # upstream

        wrapped: Any = lazyentity.wrap(make(kind=Mine), prefetch=["number"])
        assert isinstance(wrapped, Mine)
        (entity,) = wrapped.get_multi([make().key(KIND, 1)])
        assert lazyentity.decoded(entity) == ("number",)


class TestDetached:
    """Detached entities and clients."""

    @pytest.mark.parametrize("how", ["put", "batch", "transaction"])
    def test_are_not_written(self, make: Make, transport: str, patched: bool, how: str) -> None:
        """No client writes them; the stored entity stays as it was."""
        client = make(namespace=f"detached-{transport}-{how}")
        stored = datastore.Entity(client.key("Kept", 1))
        stored.update({"read": 1, "unread": 2})
        client.put(stored)
        wrapped = lazyentity.wrap(client)
        for names in (["read"], []):
            found = lazyentity.wrap(client, prefetch=names).get(stored.key)
            (detached,) = lazyentity.detach([found])
            for writer in (client, wrapped):
                with pytest.raises(RuntimeError, match="was detached"):
                    _write(writer, how, detached)
        with lazyentity.eager():
            assert dict(client.get(stored.key)) == {"read": 1, "unread": 2}

    def test_partial_ones_are_written(self, make: Make, transport: str, patched: bool) -> None:
        client = make(namespace=f"detached-{transport}")
        stored = datastore.Entity(client.key("Kept", 1), exclude_from_indexes=("read",))
        stored.update({"read": 1, "unread": 2})
        client.put(stored)
        found = lazyentity.wrap(client, prefetch=["read"]).get(stored.key)
        client.put_multi(lazyentity.detach([found], partial=True))
        with lazyentity.eager():
            now = client.get(stored.key)
        assert dict(now) == {"read": 1}
        assert now.exclude_from_indexes == {"read"}

    def test_of_a_query(self, query: Query) -> None:
        """An iterator goes in as it is."""
        detached = lazyentity.detach(lazyentity.wrap(query, prefetch=["number"]).fetch())
        assert [(entity.key.id, dict(entity)) for entity in detached] == [
            (number + 1, {"number": number + 1}) for number in range(COUNT)
        ]

    def test_keys_serve(self, client: Client, query: Query) -> None:
        """A detached entity still tells which one it is."""
        (detached, *_) = lazyentity.detach(lazyentity.wrap(query).fetch())
        assert client.get(detached.key)["number"] == 1


def _write(client: Any, how: str, entity: Any) -> None:
    if how == "put":
        client.put(entity)
    else:
        with getattr(client, how)() as open_batch:
            open_batch.put(entity)
