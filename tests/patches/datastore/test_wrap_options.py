"""wrap(..., prefetch=, strict=): properties decoded with the entity, and those allowed later."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore.query import PropertyFilter, Query

import lazyentity
from lazyentity.codec import messages
from tests.patches.conftest import Make
from tests.patches.datastore.activations import READS, Reads
from tests.patches.order_program import COUNT, KIND, read
from tests.support.describing import describe, entity_types

Client = datastore.Client

each_read = pytest.mark.parametrize("reads", READS.values(), ids=READS)
each_write = pytest.mark.parametrize("how", ["put", "batch", "transaction"])


@pytest.fixture(params=[False, True], ids=["unpatched", "patched"])
def patched(request: pytest.FixtureRequest, _stock_before_and_after: None) -> None:
    if request.param:
        lazyentity.patch()


in_any_process = pytest.mark.usefixtures("patched")


def decoded(query: Any) -> set[Any]:
    """Return the names of properties that are decoded of the entities of a query."""
    return {lazyentity.decoded(entity) for entity in query.fetch()}


def write(client: Any, how: str, entity: Any) -> None:
    if how == "put":
        client.put(entity)
    else:
        with getattr(client, how)() as open_batch:
            open_batch.put(entity)


def stored(client: Client, **properties: Any) -> datastore.Entity:
    """Store an entity; its longer and unread properties are not indexed."""
    excluded = [name for name in ("long", "read") if name in properties]
    entity = datastore.Entity(client.key("Kept", 1), exclude_from_indexes=excluded)
    entity.update(properties)
    client.put(entity)
    return entity


class TestPrefetch:
    """prefetch=."""

    @in_any_process
    @each_read
    def test_decodes_what_is_named(self, client: Client, reads: Reads) -> None:
        """Every entity with the property has it decoded, and nothing else."""
        entities = reads(lazyentity.wrap(client, prefetch=["number", "parity", "absent"]))
        assert len(entities) == COUNT
        for entity in entities:
            assert type(entity) is lazyentity.LazyEntity
            assert set(lazyentity.decoded(entity)) == {"number", "parity"}

    @in_any_process
    def test_contents_are_the_same(self, client: Client, stock_contents: Any) -> None:
        wrapped = lazyentity.wrap(client, prefetch=["list", "inner", "meant"])
        assert read(wrapped) == {"classes": ["LazyEntity"], "contents": stock_contents}

    @in_any_process
    def test_any_iterable_of_names(self, query: Query) -> None:
        for names in ({"number"}, ("number",), iter(["number"]), {"number": 1}.keys()):
            wrapped = lazyentity.wrap(query, prefetch=names)
            for _ in range(2):
                assert decoded(wrapped) == {("number",)}

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

    @in_any_process
    @each_read
    def test_refuses_everything_else(self, client: Client, reads: Reads) -> None:
        for entity in reads(lazyentity.wrap(client, prefetch=["number"], strict=True)):
            assert isinstance(entity, lazyentity.LazyEntity)
            assert entity["number"] in range(COUNT + 1)
            with pytest.raises(RuntimeError, match="property 'parity'") as refused:
                entity["parity"]
            assert repr(entity.key) in str(refused.value)
            with pytest.raises(RuntimeError, match="not prefetched"):
                entity.items()

    @in_any_process
    def test_of_a_query(self, query: Query) -> None:
        for entity in lazyentity.wrap(query, strict=True).fetch():
            with pytest.raises(RuntimeError, match="property 'number'"):
                entity["number"]
            lazyentity.prefetch(entity, "number")
            assert entity["number"] == entity.key.id

    def test_what_is_embedded_reads_normally(self, query: Query) -> None:
        for entity in lazyentity.wrap(query, prefetch=["inner", "list"], strict=True).fetch():
            assert entity["inner"]["numbers"] == [1, 2]
            assert entity["list"][-1]["deeper"]["at"].year == 2024

    @in_any_process
    @each_write
    def test_is_written(self, make: Make, transport: str, how: str) -> None:
        """By a patched client, wrapped or not; an unpatched one cannot read it all."""
        client = make(namespace=f"strict-{transport}-{how}")
        for writer in (client, lazyentity.wrap(client)):
            kept = stored(client, value=1, long="x" * 2000, list=[1, 2])
            wrapped = lazyentity.wrap(client, prefetch=["value"], strict=True)
            entity = wrapped.get(kept.key)
            entity["value"] += 1
            if not lazyentity.patched():
                with pytest.raises(RuntimeError, match="not prefetched"):
                    write(writer, how, entity)
                continue
            write(writer, how, entity)
            with lazyentity.eager():
                now = client.get(kept.key)
            assert dict(now) == {**kept, "value": 2}
            assert now.exclude_from_indexes == {"long"}
            with pytest.raises(RuntimeError, match="not prefetched"):
                entity["long"]


class TestOptions:
    """Whose the options are."""

    @pytest.mark.parametrize("options", [{}, {"prefetch": ["number"], "strict": True}])
    def test_eager_overrules(
        self, client: Client, query: Query, stock_contents: Any, options: Any
    ) -> None:
        wrapped = lazyentity.wrap(client, **options)
        with lazyentity.eager():
            entities = list(lazyentity.wrap(query, **options).fetch())
            contents = read(wrapped)
        assert entity_types(entities) == {"Entity"}
        assert describe(entities) == stock_contents["fetch"]
        assert contents == {"classes": ["Entity"], "contents": stock_contents}
        assert type(wrapped.get(client.key(KIND, 1))) is lazyentity.LazyEntity

    def test_nothing_else_has_them(self, client: Client, query: Query, stock_contents: Any) -> None:
        lazyentity.wrap(client, prefetch=["number"], strict=True)
        lazyentity.wrap(query, prefetch=["number"], strict=True)
        assert read(client) == {"classes": ["Entity"], "contents": stock_contents}
        assert read(lazyentity.wrap(client))["contents"] == stock_contents
        assert decoded(lazyentity.wrap(query)) == {()}

    def test_wrapping_again(self, query: Query) -> None:
        """The result has the options given for it; the first one keeps its own."""
        plain = lazyentity.wrap(query)
        first = lazyentity.wrap(plain, prefetch=["number"], strict=True)
        second = lazyentity.wrap(first, prefetch=["parity"])
        for wrapped in (plain, first, second):
            assert lazyentity.wrap(wrapped) is wrapped
        assert lazyentity.wrap(second, prefetch=[], strict=False) is second
        assert type(plain) is type(first) is type(second)
        for wrapped, names in ((plain, ()), (first, ("number",)), (second, ("parity",))):
            assert decoded(wrapped) == {names}
        with pytest.raises(RuntimeError, match="not prefetched"):
            next(iter(first.fetch()))["parity"]
        assert next(iter(second.fetch()))["number"] == 1

    def test_wrapping_a_client_again(self, client: Client) -> None:
        first = lazyentity.wrap(client, prefetch=["number"])
        second = lazyentity.wrap(first, strict=True)
        for wrapped in (lazyentity.wrap(client), first, second):
            assert lazyentity.wrap(wrapped) is wrapped
        assert lazyentity.decoded(first.get(client.key(KIND, 1))) == ("number",)
        assert lazyentity.decoded(second.get(client.key(KIND, 1))) == ()
        assert first._datastore_api is second._datastore_api

    def test_state_is_shared(self, query: Query) -> None:
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
        assert decoded(query) == {("number",)}
        assert decoded(other) == {("parity",)}

    def test_a_copy_of_a_query_has_them(self, query: Query) -> None:
        copied = copy.copy(lazyentity.wrap(query, prefetch=["number"]))
        assert decoded(copied) == {("number",)}

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

    @in_any_process
    @each_write
    def test_are_not_written(self, make: Make, transport: str, how: str) -> None:
        """No client writes them; the stored entity stays as it was."""
        client = make(namespace=f"detached-{transport}-{how}")
        kept = stored(client, read=1, unread=2)
        for names in (["read"], []):
            found = lazyentity.wrap(client, prefetch=names).get(kept.key)
            (detached,) = lazyentity.detach([found])
            for writer in (client, lazyentity.wrap(client)):
                with pytest.raises(RuntimeError, match="was detached"):
                    write(writer, how, detached)
        with lazyentity.eager():
            assert dict(client.get(kept.key)) == {"read": 1, "unread": 2}

    @in_any_process
    def test_partial_ones_are_written(self, make: Make, transport: str) -> None:
        client = make(namespace=f"detached-{transport}")
        kept = stored(client, read=1, unread=2)
        found = lazyentity.wrap(client, prefetch=["read"]).get(kept.key)
        client.put_multi(lazyentity.detach([found], partial=True))
        with lazyentity.eager():
            now = client.get(kept.key)
        assert dict(now) == {"read": 1}
        assert now.exclude_from_indexes == {"read"}

    def test_of_a_query(self, client: Client, query: Query) -> None:
        """An iterator goes in as it is; a detached entity still tells which one it is."""
        detached = lazyentity.detach(lazyentity.wrap(query, prefetch=["number"]).fetch())
        assert [(entity.key.id, dict(entity)) for entity in detached] == [
            (number + 1, {"number": number + 1}) for number in range(COUNT)
        ]
        assert client.get(detached[0].key)["number"] == 1
