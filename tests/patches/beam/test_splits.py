"""Splits of a query over many entities: disjoint ranges, nothing twice, nothing missed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from apache_beam.io.gcp.datastore.v1new import datastoreio, helper, types
from google.cloud.environment_vars import GCD_HOST

import lazyentity
from lazyentity.bench.server.grpc_frontend import start_grpc
from lazyentity.bench.server.keys import EntityKey, Partition
from lazyentity.bench.server.schema import Entity
from lazyentity.bench.server.service import DatastoreService
from lazyentity.bench.server.store import PendingWrite
from lazyentity.patches.beam.elements import LazyElement
from lazyentity.patches.beam.reads import QueryFn
from tests.patches.beam.pipelines import BY_POSITION
from tests.support.clients import PROJECT

COUNT = 100_000
SPLITS = 5
KIND = "Small"


@pytest.fixture
def _many_entities(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    service = DatastoreService()
    # Through the client, storing them would take ten times as long as the test.
    writes = {}
    for number in range(1, COUNT + 1):
        entity = Entity()
        entity.key.partition_id.project_id = PROJECT
        entity.key.path.add(kind=KIND, id=number)
        entity.properties["number"].integer_value = number
        key = EntityKey(Partition(PROJECT, "", ""), ((KIND, 0, number),))
        key_wire = entity.key.SerializeToString()
        writes[key] = PendingWrite(key_wire, entity.SerializeToString())
    service._store.commit(writes)
    server, port = start_grpc(service, 0)
    monkeypatch.setenv(GCD_HOST, f"127.0.0.1:{port}")
    helper.get_client.cache_clear()
    yield
    helper.get_client.cache_clear()
    server.stop(grace=None).wait()


@pytest.mark.any_backend
@pytest.mark.filterwarnings(BY_POSITION)
@pytest.mark.usefixtures("_many_entities")
def test_splits_are_disjoint_and_complete() -> None:
    split = datastoreio.ReadFromDatastore._SplitQueryFn(SPLITS)
    queries = list(split.process(types.Query(KIND, PROJECT)))
    assert len(queries) == SPLITS
    lazyentity.patch("beam", "datastore", strict=True)
    ranges = []
    for query in queries:
        elements = list(QueryFn().process(query))
        assert {*map(type, elements)} == {LazyElement}
        numbers = [element.properties["number"] for element in elements]
        assert numbers == [element.key.path_elements[-1] for element in elements]
        ranges.append(numbers)
    ranges.sort()
    assert [number for numbers in ranges for number in numbers] == [*range(1, COUNT + 1)]
    # The sample of keys that splits them is random; Beam's last range begins at its last key.
    assert sorted(map(len, ranges))[1] > COUNT / SPLITS / 3
