"""wrap(): lazy reads for one query or client, its options, and no trace of it anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from google.cloud import datastore
from google.cloud.datastore.aggregation import AggregationQuery
from google.cloud.datastore.query import PropertyFilter, Query

import lazyentity
from lazyentity.codec import messages
from tests.patches.conftest import Make, is_stock
from tests.patches.datastore.activations import READS, Reads
from tests.patches.order_program import COUNT, KIND, read
from tests.support.describing import describe, entity_types

Client = datastore.Client

LAZY = ["LazyEntity"]
STOCK = ["Entity"]


@contextmanager
def nothing_changes(*objects: object) -> Iterator[None]:
    """Check that no seam is touched inside, and that ``objects`` keep class and attributes."""
    before = [(type(one), dict(vars(one))) for one in objects]
    yield
    assert is_stock()
    assert [(type(one), dict(vars(one))) for one in objects] == before


def types_of(query: Any) -> list[str]:
    """Fetch a query; return the classes of its entities."""
    return sorted(entity_types(list(query.fetch())))


class TestClient:
    """A wrapped client."""

    def test_its_reads_alone_are_lazy_and_right(
        self, client: Client, make: Make, stock_contents: Any
    ) -> None:
        """Other clients stay stock, made before or after, and the one that was given, too."""
        before = make()
        client.get(client.key(KIND, 1))
        with nothing_changes(client):
            wrapped = lazyentity.wrap(client)
            assert read(wrapped) == {"classes": LAZY, "contents": stock_contents}
        for other in (client, before, make()):
            assert read(other) == {"classes": STOCK, "contents": stock_contents}

    def test_is_an_instance_of_what_it_wraps(self, make: Make) -> None:
        class Mine(datastore.Client):
            pass

        for kind in (datastore.Client, Mine):
            wrapped = lazyentity.wrap(make(kind=kind))
            assert isinstance(wrapped, kind)
            assert type(wrapped).__name__ == kind.__name__
            assert type(wrapped).__module__ == kind.__module__

    def test_state_is_shared_both_ways(self, make: Make) -> None:
        client = make(namespace="one")
        wrapped = lazyentity.wrap(client)
        client.namespace = "two"
        assert wrapped.namespace == "two"
        wrapped.namespace = "three"
        assert client.key("K", 1).namespace == "three"
        assert wrapped._datastore_api_internal is client._datastore_api_internal
        assert client._datastore_api is wrapped._datastore_api_internal


class TestQuery:
    """A wrapped query."""

    def test_its_results_alone_are_lazy_and_right(
        self, query: Query, client: Client, stock_contents: Any
    ) -> None:
        with nothing_changes(query):
            entities = list(lazyentity.wrap(query).fetch())
        assert entity_types(entities) == set(LAZY)
        assert describe(entities) == stock_contents["fetch"]
        assert types_of(query) == STOCK
        assert read(client) == {"classes": STOCK, "contents": stock_contents}

    def test_is_an_instance_of_what_it_wraps(self, client: Client) -> None:
        """Its own methods can be called, and those that it overrides are."""

        class Mine(Query):
            fetched = 0

            def fetch(self, *args: Any, **kwargs: Any) -> Any:
                self.fetched += 1
                return super().fetch(*args, **kwargs)  # type: ignore[no-untyped-call]  # upstream

            def fetch_ids(self) -> list[Any]:
                return [entity.key.id for entity in self.fetch()]

        mine: Any = Mine
        wrapped = lazyentity.wrap(mine(client, kind=KIND, order=["__key__"]))
        assert isinstance(wrapped, Mine)
        assert isinstance(lazyentity.wrap(client.query()), Query)
        assert isinstance(lazyentity.wrap(client).query(), Query)
        assert types_of(wrapped) == LAZY
        assert wrapped.fetch_ids() == [1, 2, 3]
        assert wrapped.fetched == 2


@pytest.mark.parametrize("is_first", [True, False])
def test_wrapped_before_patching_or_after(
    client: Client, stock_contents: Any, is_first: bool
) -> None:
    if is_first:
        wrapped = lazyentity.wrap(client)
        read(wrapped)
    lazyentity.patch()
    if not is_first:
        wrapped = lazyentity.wrap(client)
    for reader in (wrapped, client):
        assert read(reader) == {"classes": LAZY, "contents": stock_contents}
    lazyentity.unpatch()
    assert read(wrapped) == {"classes": LAZY, "contents": stock_contents}
    assert read(client) == {"classes": STOCK, "contents": stock_contents}


def test_the_kill_switch_is_for_patching_alone(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LAZYENTITY_DISABLE turns patch() off, but not wrap()."""
    monkeypatch.setenv("LAZYENTITY_DISABLE", "1")
    assert read(lazyentity.wrap(client))["classes"] == LAZY


class _QueryLike:
    """Looks like a query, but is none."""

    kind = KIND

    def fetch(self) -> list[Any]:
        return []


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (None, "NoneType"),
        (5, "int"),
        ("text", "str"),
        (datastore.Client, "type"),
        (datastore.Entity(), "google.cloud.datastore.entity.Entity"),
        (datastore.Key("K", 1, project="p"), "google.cloud.datastore.key.Key"),
        (
            AggregationQuery(None, mock.Mock()),
            "google.cloud.datastore.aggregation.AggregationQuery",
        ),
        (_QueryLike(), "_QueryLike"),
        (mock.Mock(spec=datastore.Client), "unittest.mock.Mock"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_anything_else_is_refused(given: Any, named: str) -> None:
    """The TypeError names the accepted types and the given one."""
    with pytest.raises(TypeError) as refused:
        lazyentity.wrap(given)
    text = str(refused.value)
    assert text.startswith("wrap() takes a google.cloud.datastore Query or Client, not ")
    assert text.endswith(named)


@pytest.mark.parametrize("kind", [datastore.Client, Query])
def test_state_in_slots_is_refused(kind: Any) -> None:
    """A subclass that keeps state in slots cannot share it; the TypeError names the slot."""

    class Slotted(kind):  # type: ignore[misc]  # a base known at run time only
        __slots__ = ("extra",)

    with pytest.raises(TypeError, match=r"Slotted.*'extra' in a slot"):
        lazyentity.wrap(object.__new__(Slotted))


each_read = pytest.mark.parametrize("reads", READS.values(), ids=READS)
each_write = pytest.mark.parametrize("how", ["put", "batch", "transaction"])


@pytest.fixture(params=[False, True], ids=["unpatched", "patched"])
def _patched_or_not(request: pytest.FixtureRequest, _stock_before_and_after: None) -> None:
    if request.param:
        lazyentity.patch()


in_any_process = pytest.mark.usefixtures("_patched_or_not")


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
