"""``python -m lazyentity pack``: servers that are away or take small transactions; JSON."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from click.testing import CliRunner, Result
from google.cloud import datastore
from google.cloud.environment_vars import GCD_HOST
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.packed import UnpackError, is_packed, migration, pack, unpack
from lazyentity.packed.command import main
from lazyentity.packed.jsonbytes import document_of_json
from lazyentity.packed.migration import Migration, Report
from tests.bulk.services import Call, RecordingService, Served, connected, refusal, served
from tests.integration.rewrites import wipe
from tests.support.clients import PROJECT

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


@pytest.fixture(scope="module")
def _server() -> Iterator[Served]:
    with served() as made:
        yield made


@pytest.fixture
def running(_server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """An empty server, which the environment names."""
    monkeypatch.setenv(GCD_HOST, f"127.0.0.1:{_server.ports['grpc']}")
    yield _server
    _server.service.forget()
    monkeypatch.delenv(GCD_HOST)
    with connected(_server) as client:
        wipe(client)


@pytest.fixture
def service(running: Served) -> RecordingService:
    return running.service


@pytest.fixture(params=["grpc", "http"])
def client(running: Served, request: pytest.FixtureRequest) -> Iterator[datastore.Client]:
    with connected(running, request.param) as made:
        yield made


def put(client: datastore.Client, count: int) -> None:
    entities = [datastore.Entity(client.key("Order", number + 1)) for number in range(count)]
    for entity in entities:
        entity["result"] = {"text": "x" * 300}
    client.put_multi(entities)


def migrate(client: datastore.Client) -> Report:
    report = Report()
    list(Migration(client, "Order", "result", 512).run(report))
    return report


def run(kind: str = "Order", name: str = "result", *arguments: str) -> Result:
    given = ["--kind", kind, "--property", name, "--project", PROJECT, *arguments]
    return CliRunner().invoke(main, given)


@pytest.mark.parametrize("method", ["RunQuery", "BeginTransaction", "Lookup", "Commit"])
def test_unavailability(client: datastore.Client, service: RecordingService, method: str) -> None:
    """Whatever request meets it is sent again, as the client's own policy has it."""
    put(client, 2)
    service.refuse(UNAVAILABLE, 2, method)
    assert migrate(client).packed == 2
    assert len([call for call in service.calls if call.method == method]) >= 3
    assert all(is_packed(entity["result"]) for entity in client.query(kind="Order").fetch())


def test_a_commit_whose_answer_is_lost(client: datastore.Client, service: RecordingService) -> None:
    """The entities were written, and are counted as that."""
    put(client, 2)
    left = [refusal(UNAVAILABLE)]

    def lost(response: bytes) -> bytes:
        if left:
            raise left.pop()
        return response

    service.forget()
    service.change = {"Commit": lost}
    report = migrate(client)
    assert (report.packed, report.left) == (2, {})
    assert report.bytes_before > 600
    assert report.bytes_after > 600


def test_transactions_that_each_server_takes(
    client: datastore.Client, service: RecordingService
) -> None:
    """Google's emulator takes 25 root entities, and refuses a transaction of more."""
    put(client, 60)

    def refuse_more(call: Call) -> None:
        if call.method == "Commit" and len(call.message.mutations) > 25:
            raise refusal(grpc.StatusCode.INVALID_ARGUMENT)

    service.forget()
    service.before = refuse_more
    assert migrate(client).packed == 60
    assert service.sizes("Commit") == [25, 25, 10]


def test_a_server_that_is_away(
    running: Served, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command says that it waits, at once, and gives up in the end."""
    monkeypatch.setattr(migration, "_RETRY_SECONDS", 0.3)
    monkeypatch.setattr(migration, "_COUNT_SECONDS", 0.2)

    def refuse(_: Call) -> None:
        raise refusal(UNAVAILABLE)

    service.before = refuse
    outcome = run()
    assert outcome.exit_code == 1
    said = "waiting for the server, and trying again: 503 refused with UNAVAILABLE"
    assert outcome.output.count(said) == 1
    assert "stopped at an error: Timeout of 0.3s exceeded, last exception: 503" in outcome.output


def test_nothing_to_pack(running: Served, service: RecordingService) -> None:
    """A kind or a property that does not exist is an error."""
    with connected(running) as client:
        put(client, 2)
    outcome = run("Ordr")
    assert outcome.exit_code == 1
    assert "Error: there is no entity of the kind 'Ordr'; check --kind" in outcome.output
    outcome = run("Order", "reslt")
    assert outcome.exit_code == 1
    assert "Error: no entity of the kind 'Order' has the property 'reslt'" in outcome.output
    assert run().exit_code == 0
    service.forget()
    report = Report()
    with connected(running) as client:
        next(Migration(client, "Order", "result", 512).run(report, page=2))
    assert report.cursor is not None
    # The rest, which may be empty, or without the property.
    outcome = run("Order", "result", "--start-cursor", report.cursor.decode())
    assert (outcome.exit_code, "0 entities read" in outcome.output) == (0, True), outcome.output


def test_a_cursor_of_another_server(running: Served) -> None:
    with connected(running) as client:
        put(client, 2)
    outcome = run("Order", "result", "--start-cursor", "bm9uc2Vuc2U=")
    assert outcome.exit_code == 1
    assert "stopped at an error: 400" in outcome.output


JSON_DOCUMENTS: list[Any] = [
    {"lines": [{"price": 2.5, "sku": "ä"}]},
    [],
    {},
    "text",
    80,
    -1.5,
    True,
    None,
    {"$": 1},
]
REFUSED = [b"", b"\x80\x04", b"x", b"[1", b"nul", zlib.compress(b"[1"), zlib.compress(b"[1]")[:-1]]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_document(document: Any) -> None:
    """As the property reads it: numbers of any size, too, which a packed document cannot have."""
    for separators in (None, (",", ":")):
        stored = json.dumps(document, separators=separators).encode("ascii")
        assert document_of_json(stored) == document
        for level in (-1, 0, 1, 9):
            assert document_of_json(zlib.compress(stored, level)) == document


@pytest.mark.parametrize("stored", REFUSED)
def test_other_bytes(stored: bytes) -> None:
    with pytest.raises(UnpackError, match="they are no JSON either"):
        document_of_json(stored)


def test_sizes() -> None:
    """A small stream of zlib can be much JSON; no more than that is decompressed."""
    stored = json.dumps("x" * 1_000).encode()
    for form in (stored, zlib.compress(stored)):
        assert document_of_json(form, max_size=1_002) == "x" * 1_000
        with pytest.raises(UnpackError, match="more than 1,001 bytes"):
            document_of_json(form, max_size=1_001)


def test_migration_of_json(running: Served) -> None:
    """Bytes are packed, and the meaning of compressed ones goes; what is no JSON stays."""
    with connected(running) as client:
        for number, document in enumerate(JSON_DOCUMENTS):
            text = json.dumps(document).encode()
            for name, stored in (("plain", text), ("compressed", zlib.compress(text))):
                entity = datastore.Entity(client.key("Order", f"{name} {number}"))
                entity["result"] = stored
                if name == "compressed":
                    entity._meanings["result"] = (22, stored)
                client.put(entity)
        for number, stored in enumerate([*REFUSED, b"NaN", b"[123456789012345678901]"]):
            entity = datastore.Entity(client.key("Order", f"refused {number}"))
            entity["result"] = stored
            client.put(entity)
        report = migrate(client)
        assert report.packed == 2 * len(JSON_DOCUMENTS)
        assert {reason: left.count for reason, left in report.left.items()} == {
            "bytes of another format": len(REFUSED),
            "cannot be packed": 2,
        }
        for entity in client.query(kind="Order").fetch():
            name, _, number = entity.key.name.partition(" ")
            assert is_packed(entity["result"]) == (name != "refused")
            if name != "refused":
                assert unpack(entity["result"]) == JSON_DOCUMENTS[int(number)]
                assert entity._meanings == {}


def test_packed_documents_are_no_json() -> None:
    with pytest.raises(UnpackError):
        document_of_json(pack({"a": 1}))
