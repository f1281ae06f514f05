"""JSON bodies over HTTP say what protobuf bodies say."""

from __future__ import annotations

import http.client
import json
from typing import Any

import pytest
from google.cloud import datastore
from google.protobuf import json_format

from lazyentity.bench.server.process import LoopbackServer
from lazyentity.bench.server.schema import METHODS
from tests.server.conftest import MakeClient
from tests.support.entities import fill

PROJECT = "json-tests"
SECONDS = 30

_TYPES = {"json": "application/json", "protobuf": "application/x-protobuf"}


def _post(server: LoopbackServer, method: str, body: bytes, encoding: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=SECONDS)
    path = f"/v1/projects/{PROJECT}:{method[0].lower()}{method[1:]}"
    connection.request("POST", path, body, {"Content-Type": _TYPES[encoding]})
    response = connection.getresponse()
    answered = response.read()
    assert response.headers.get_content_type() == _TYPES[encoding]
    connection.close()
    return response.status, answered


def _ask(server: LoopbackServer, method: str, request: dict[str, Any], encoding: str) -> Any:
    """Return the response, as a message."""
    request_type, response_type = METHODS[method]
    if encoding == "json":
        status, body = _post(server, method, json.dumps(request).encode(), encoding)
        response = json_format.Parse(body, response_type())
    else:
        serialised = json_format.ParseDict(request, request_type()).SerializeToString()
        status, body = _post(server, method, serialised, encoding)
        response = response_type.FromString(body)
    assert status == 200, body
    return response


def _key(*path: Any) -> dict[str, Any]:
    steps = zip(path[::2], path[1::2], strict=True)
    return {
        "partitionId": {"projectId": PROJECT},
        "path": [
            {"kind": kind, ("id" if type(which) is int else "name"): which} for kind, which in steps
        ],
    }


@pytest.fixture
def stored(make_client: MakeClient, server: LoopbackServer) -> None:
    """Three entities with properties of every type."""
    client = make_client(server, PROJECT)
    client.put_multi(
        [fill(datastore.Entity(client.key("Thing", number)), number) for number in (1, 2, 3)]
    )


_READS: dict[str, dict[str, Any]] = {
    "Lookup": {
        "keys": [_key("Thing", 1), _key("Thing", 2), _key("Thing", 99)],
        "readOptions": {"readConsistency": "STRONG"},
    },
    "RunQuery": {
        "query": {
            "kind": [{"name": "Thing"}],
            "limit": 2,
            "filter": {
                "propertyFilter": {
                    "property": {"name": "number"},
                    "op": "GREATER_THAN",
                    "value": {"integerValue": 1, "excludeFromIndexes": False},
                }
            },
        },
        "partitionId": {"projectId": PROJECT, "namespaceId": ""},
    },
    "RunAggregationQuery": {
        "aggregationQuery": {
            "nestedQuery": {"kind": [{"name": "Thing"}]},
            "aggregations": [{"alias": "n", "count": {}}],
        }
    },
    "AllocateIds": {"keys": [{"path": [{"kind": "Thing"}]}]},
    "ReserveIds": {"keys": [_key("Thing", 77)]},
}


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("transport", ["http"])
@pytest.mark.parametrize("method", _READS)
def test_responses_are_those_of_protobuf(server: LoopbackServer, method: str) -> None:
    """Asked twice: the second answer to a request that repeats is the first one."""
    first, second = (_ask(server, method, _READS[method], "json") for _ in range(2))
    expected = _ask(server, method, _READS[method], "protobuf")
    for response in (first, second):
        for each in (response, expected):
            # The times of the reads differ, and so do the ids that were allocated.
            for field in ("read_time", "keys"):
                if field in each.DESCRIPTOR.fields_by_name:
                    each.ClearField(field)
            if "batch" in each.DESCRIPTOR.fields_by_name:
                each.batch.ClearField("read_time")
        assert response == expected


def test_a_transaction_in_json(server: LoopbackServer) -> None:
    """It begins with an empty body; what it commits is read back in protobuf."""
    status, body = _post(server, "BeginTransaction", b"", "json")
    assert status == 200
    transaction = json.loads(body)["transaction"]
    upsert = {
        "key": _key("Parent", "p", "Written", 1),
        "properties": {
            "null": {"nullValue": "NULL_VALUE"},
            "at": {"timestampValue": "2024-02-29T23:59:59.123456000Z"},
            "blob": {"blobValue": "AP8="},
            "list": {"arrayValue": {"values": [{"doubleValue": "NaN"}, {"integerValue": "7"}]}},
        },
    }
    written = {
        "mode": "TRANSACTIONAL",
        "transaction": transaction,
        "mutations": [{"upsert": upsert}],
    }
    assert len(_ask(server, "Commit", written, "json").mutation_results) == 1
    (found,) = _ask(server, "Lookup", {"keys": [upsert["key"]]}, "protobuf").found
    expected = json_format.ParseDict(upsert, type(found.entity)())
    assert str(found.entity.properties["list"]) == str(expected.properties["list"])
    for entity in (found.entity, expected):
        entity.properties.pop("list")  # NaN is not equal to itself
    assert found.entity == expected

    status, body = _post(server, "BeginTransaction", b"{}", "json")
    rolled_back = {"transaction": json.loads(body)["transaction"]}
    assert _ask(server, "Rollback", rolled_back, "json").ByteSize() == 0


@pytest.mark.parametrize(
    ("method", "body", "status", "name"),
    [
        ("Nothing", b"{}", 404, "NOT_FOUND"),
        ("Lookup", b"{", 400, "INVALID_ARGUMENT"),
        ("Lookup", b"\xff", 400, "INVALID_ARGUMENT"),
        ("Lookup", b'{"nothing": 1}', 400, "INVALID_ARGUMENT"),
        ("RunQuery", b'{"gqlQuery": {"queryString": "SELECT *"}}', 501, "UNIMPLEMENTED"),
    ],
)
def test_errors(server: LoopbackServer, method: str, body: bytes, status: int, name: str) -> None:
    """A refusal is the error object of a REST interface."""
    answered, raw = _post(server, method, body, "json")
    error = json.loads(raw)["error"]
    assert (answered, error["code"], error["status"]) == (status, status, name)
    assert error["message"]
