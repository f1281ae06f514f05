"""``python -m lazyentity pack``: servers that are away or take small transactions; JSON."""

from __future__ import annotations

import json
import zlib
from typing import Any

import grpc
import pytest
from google.cloud import datastore
from hypothesis import given
from hypothesis import strategies as st

from lazyentity.packed import UnpackError, is_packed, pack, unpack
from lazyentity.packed import migration as migrations
from lazyentity.packed.jsonbytes import document_of_json
from lazyentity.packed.migration import Report
from tests.bulk.services import Call, RecordingService, refusal
from tests.packed.test_migration import migration, put, run

UNAVAILABLE = grpc.StatusCode.UNAVAILABLE

over_grpc = pytest.mark.parametrize("transport", ["grpc"])


def fill(client: datastore.Client, count: int) -> None:
    for number in range(count):
        put(client, str(number), result={"text": "x" * 300})


def migrate(client: datastore.Client) -> Report:
    (report,) = migration(client).run(Report())
    return report


@pytest.mark.parametrize("method", ["RunQuery", "BeginTransaction", "Lookup", "Commit"])
def test_unavailability(client: datastore.Client, service: RecordingService, method: str) -> None:
    """Whatever request meets it is sent again, as the client's own policy has it."""
    fill(client, 2)
    service.refuse(UNAVAILABLE, 2, method)
    assert migrate(client).packed == 2
    assert len([call for call in service.calls if call.method == method]) >= 3
    assert all(is_packed(entity["result"]) for entity in client.query(kind="Order").fetch())


def test_a_commit_whose_answer_is_lost(client: datastore.Client, service: RecordingService) -> None:
    """The entities were written, and are counted as that."""
    fill(client, 2)
    service.fail_applied_commits()
    report = migrate(client)
    assert (report.packed, report.left) == (2, {})
    assert report.bytes_before > 600
    assert report.bytes_after > 600


def test_transactions_that_each_server_takes(
    client: datastore.Client, service: RecordingService
) -> None:
    """Google's emulator takes 25 root entities, and refuses a transaction of more."""
    fill(client, 60)

    def refuse_more(call: Call) -> None:
        if call.method == "Commit" and len(call.message.mutations) > 25:
            raise refusal(grpc.StatusCode.INVALID_ARGUMENT)

    service.forget()
    service.before = refuse_more
    assert migrate(client).packed == 60
    assert service.sizes("Commit") == [25, 25, 10]


@over_grpc
def test_a_server_that_is_away(
    client: datastore.Client, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command says that it waits, at once, and gives up in the end."""
    monkeypatch.setattr(migrations, "_RETRY_SECONDS", 0.3)
    monkeypatch.setattr(migrations, "_COUNT_SECONDS", 0.2)

    def refuse(_: Call) -> None:
        raise refusal(UNAVAILABLE)

    service.before = refuse
    outcome = run(client)
    assert outcome.exit_code == 1
    said = "waiting for the server, and trying again: 503 refused with UNAVAILABLE"
    assert outcome.output.count(said) == 1
    assert "stopped at an error: Timeout of 0.3s exceeded, last exception: 503" in outcome.output


@over_grpc
def test_nothing_to_pack(client: datastore.Client) -> None:
    """A kind or a property that does not exist is an error."""
    fill(client, 2)
    outcome = run(client, "--kind", "Ordr")
    assert outcome.exit_code == 1
    assert "Error: there is no entity of the kind 'Ordr'; check --kind" in outcome.output
    outcome = run(client, "--property", "reslt")
    assert outcome.exit_code == 1
    assert "Error: no entity of the kind 'Order' has the property 'reslt'" in outcome.output
    assert run(client).exit_code == 0
    report = Report()
    next(migration(client).run(report, page=2))
    assert report.cursor is not None
    # The rest, which may be empty, or without the property.
    outcome = run(client, "--start-cursor", report.cursor.decode())
    assert (outcome.exit_code, "0 entities read" in outcome.output) == (0, True), outcome.output


@over_grpc
def test_a_cursor_of_another_server(client: datastore.Client) -> None:
    fill(client, 2)
    outcome = run(client, "--start-cursor", "bm9uc2Vuc2U=")
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


@pytest.mark.parametrize("stored", [*REFUSED, pack({"a": 1})])
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


@over_grpc
def test_migration_of_json(client: datastore.Client) -> None:
    """Bytes are packed, and the meaning of compressed ones goes; what is no JSON stays."""
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
