"""``python -m lazyentity pack``, against a loopback server."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result
from google.api_core.exceptions import (
    Aborted,
    Conflict,
    MethodNotImplemented,
    RetryError,
    ServiceUnavailable,
)
from google.cloud import datastore
from google.cloud.datastore.helpers import GeoPoint

import lazyentity
from lazyentity.packed import command, is_packed, pack, unpack
from lazyentity.packed import migration as migrations
from lazyentity.packed.command import main
from lazyentity.packed.migration import Migration, Report
from lazyentity.patches.clients import CLIENTS
from tests.bulk.services import RecordingService
from tests.support.stock import encoded

pytestmark = pytest.mark.parametrize("transport", ["grpc"])

DOCUMENT = {"lines": [{"price": 2.5, "sku": "a"}], "note": "x" * 200}
LEFT = {
    "packed already": pack(DOCUMENT),
    "null": None,
    "bytes of another format": b"\x80\x04",
    "a value of type str": "text",
    "a value of type int": 7,
    "cannot be packed": {"where": GeoPoint(1, 2)},
}


def put(client: datastore.Client, name: str, **properties: Any) -> datastore.Entity:
    entity = datastore.Entity(client.key("Order", name), exclude_from_indexes=("other",))
    entity.update({"number": 1, "other": ["kept", 1], **properties})
    client.put(entity)
    return entity


def fill(client: datastore.Client) -> None:
    for number in range(5):
        put(client, f"a{number}", result=DOCUMENT)
    put(client, "list", result=[DOCUMENT, 1])
    for number, value in enumerate(LEFT.values()):
        put(client, f"left{number}", result=value)
    put(client, "without")


def stored(client: datastore.Client) -> dict[str, Any]:
    return {entity.key.name: entity for entity in client.query(kind="Order").fetch()}


def versions(client: datastore.Client) -> dict[str, bytes]:
    return {name: encoded(entity) for name, entity in stored(client).items()}


def run(client: datastore.Client, *arguments: str) -> Result:
    given = ["--kind", "Order", "--property", "result", "--project", client.project, *arguments]
    return CliRunner().invoke(main, given)


def test_migration(client: datastore.Client) -> None:
    """Documents are packed, all else stays as it is and is counted; a second run writes nothing."""
    fill(client)
    before = stored(client)
    outcome = run(client)
    assert outcome.exit_code == 0, outcome.output
    after = stored(client)
    packed = {name for name in after if name.startswith("a") or name == "list"}
    for name, entity in after.items():
        assert sorted(entity) == sorted(before[name])
        assert entity["other"] == ["kept", 1]
        if name in packed:
            assert is_packed(entity["result"])
            assert unpack(entity["result"]) == unpack(before[name]["result"])
            assert entity.exclude_from_indexes == {"other", "result"}
        else:
            assert encoded(entity) == encoded(before[name])
    assert "13 entities read, 6 packed, " in outcome.output
    for reason in (*LEFT, "without the property"):
        assert f"1 left alone: {reason} (the first: Order/" in outcome.output
    assert "value['where'] cannot be packed" in outcome.output
    assert not lazyentity.patched()
    again = versions(client)
    outcome = run(client)
    assert "13 entities read, 0 packed\n" in outcome.output
    assert "7 left alone: packed already" in outcome.output
    assert versions(client) == again


def test_dry_run(client: datastore.Client) -> None:
    """Nothing is written, and the run after it has the same counts and sizes."""
    fill(client)
    before = versions(client)
    dry = run(client, "--dry-run")
    assert versions(client) == before
    wet = run(client)
    assert dry.output.replace("would be packed", "packed") == wet.output


def migration(client: datastore.Client) -> Migration:
    return Migration(client, "Order", "result", 512)


def test_pages_and_restart(client: datastore.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that stops after a page continues at its cursor, or from the start."""
    # A cursor needs no count.
    monkeypatch.setattr(command, "count_of", None)
    fill(client)
    report = Report()
    pages = migration(client).run(report, page=4)
    next(pages)
    assert (report.seen, report.packed) == (4, 4)
    cursor = report.cursor
    assert cursor is not None
    continued = Report()
    states = [state.seen for state in migration(client).run(continued, cursor, page=4)]
    assert states == [4, 8, 9]
    assert continued.packed == 2
    assert continued.cursor is None
    found = stored(client)
    assert all(is_packed(found[f"a{number}"]["result"]) for number in range(5))
    put(client, "a4", result=DOCUMENT)
    for packed in ("1 packed, ", "0 packed\n"):
        outcome = run(client, "--start-cursor", cursor.decode())
        assert f"9 entities read, {packed}" in outcome.output


@pytest.mark.parametrize("error", [MethodNotImplemented("no counts"), RetryError("for long", None)])
def test_a_count_that_is_refused(
    client: datastore.Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The progress bar alone needs it."""
    fill(client)

    def refuse(*_: object) -> int:
        raise error

    monkeypatch.setattr(command, "count_of", refuse)
    outcome = run(client)
    assert outcome.exit_code == 0, outcome.output
    assert "13 entities read, 6 packed, " in outcome.output


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ServiceUnavailable("the server went away"), 1, "stopped at an error: 503 the server went"),
        (RetryError("no server for 60 s", None), 1, "stopped at an error: no server for 60 s"),
        (KeyboardInterrupt(), 130, "interrupted; run the same command again"),
    ],
)
def test_an_end_in_between(
    client: datastore.Client,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    status: int,
    text: str,
) -> None:
    """The command says how far it came, and where to continue."""
    fill(client)
    original = Migration.run

    def small_pages(self: Migration, report: Report, cursor: Any = None) -> Iterator[Report]:
        for number, state in enumerate(original(self, report, cursor, page=4)):
            yield state
            if number == 1:
                raise error

    with monkeypatch.context() as patch:
        patch.setattr(Migration, "run", small_pages)
        outcome = run(client)
    assert outcome.exit_code == status
    assert "8 entities read, 5 packed" in outcome.output
    assert text in outcome.output
    (line,) = (line for line in outcome.output.splitlines() if line.startswith("to continue: "))
    outcome = run(client, *line.removeprefix("to continue: ").split())
    assert "5 entities read, 1 packed" in outcome.output


@pytest.mark.parametrize("name", ["LAZYENTITY_DISABLE", "LAZYENTITY_EAGER"])
def test_switches(client: datastore.Client, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It does not run unpatched, and reads lazily in any case."""
    put(client, "a", result=DOCUMENT)
    monkeypatch.setenv(name, "1")
    outcome = run(client)
    is_refused = name == "LAZYENTITY_DISABLE"
    assert outcome.exit_code == is_refused
    assert (f"{name} is set" in outcome.output) == is_refused


def test_an_unsupported_client(client: datastore.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(CLIENTS["datastore"]), "problem", lambda _: "9.9 is not supported")
    outcome = run(client)
    assert outcome.exit_code == 1
    assert outcome.output.startswith("Error: lazyentity: 9.9 is not supported")


def test_a_change_meanwhile_is_not_lost(
    client: datastore.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entity is read again in the transaction that writes it."""
    put(client, "a", result=DOCUMENT)
    put(client, "b", result=DOCUMENT)
    put(client, "c", result=DOCUMENT)
    original: Any = client.transaction
    changed = {"lines": [], "note": "changed"}

    def change_first() -> Any:
        put(client, "a", result=changed, number=2)
        put(client, "b", result="no document any more")
        client.delete(client.key("Order", "c"))
        monkeypatch.undo()
        return original()

    monkeypatch.setattr(client, "transaction", change_first)
    (report,) = migration(client).run(Report())
    assert report.packed == 1
    assert {reason: left.count for reason, left in report.left.items()} == {
        "a value of type str": 1,
        "deleted meanwhile": 1,
    }
    found = stored(client)
    assert unpack(found["a"]["result"]) == changed
    assert found["a"]["number"] == 2
    assert found["b"]["result"] == "no document any more"


def test_contention(client: datastore.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction that another one aborts is tried again, and not for ever."""
    put(client, "a", result=DOCUMENT)
    original: Any = client.transaction
    # Of clients over gRPC and over HTTP.
    failures = [Aborted("first"), Conflict("second")]

    def abort() -> Any:
        if failures:
            raise failures.pop()
        return original()

    monkeypatch.setattr(client, "transaction", abort)
    (report,) = migration(client).run(Report())
    assert report.packed == 1
    put(client, "a", result=DOCUMENT)
    failures += [Aborted(str(number)) for number in range(5)]
    report = Report()
    with pytest.raises(Aborted):
        list(migration(client).run(report))
    assert (report.seen, report.packed) == (1, 0)


def commits_of(
    client: datastore.Client, service: RecordingService, documents: list[Any], compress_from: int
) -> Report:
    """Migrate documents in two commits; return the report."""
    for number, document in enumerate(documents):
        put(client, f"a{number}", result=document)
    service.forget()
    (report,) = Migration(client, "Order", "result", compress_from).run(Report())
    assert report.packed == len(documents)
    assert len(service.commits()) == 2
    return report


def test_large_entities_are_written_in_several_commits(
    client: datastore.Client, service: RecordingService
) -> None:
    """A commit stays below the limit of its size."""
    report = commits_of(client, service, [{"text": "x" * 900_000}] * 12, 512)
    assert report.bytes_before > 10_000_000 > 10_000 > report.bytes_after


def test_commits_of_values_that_become_larger(
    client: datastore.Client, service: RecordingService, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their size is that of the packed entities: bytes inside of a document take a third more."""
    monkeypatch.setattr(migrations, "_TRANSACTION_BYTES", 100_000)
    blobs = [{"blob": random.Random(number).randbytes(10_900)} for number in range(9)]
    report = commits_of(client, service, blobs, 1_000_000)
    assert report.bytes_before < 100_000 < report.bytes_after
    assert max(commit.ByteSize() for commit in service.commits()) <= 102_000


@pytest.mark.parametrize("dry_run", [False, True])
def test_entities_that_would_become_too_large(
    client: datastore.Client, monkeypatch: pytest.MonkeyPatch, dry_run: bool
) -> None:
    """They stay as they are, and the others of their commit are packed."""
    monkeypatch.setattr(migrations, "_ENTITY_BYTES", 4_000)
    put(client, "a", result=DOCUMENT)
    put(client, "b", result={"blob": random.Random(1).randbytes(4_000)})
    (report,) = Migration(client, "Order", "result", 512, dry_run).run(Report())
    assert (report.packed, list(report.left)) == (1, ["too large when packed"])
    assert report.left["too large when packed"].key.name == "b"
    assert type(stored(client)["b"]["result"]) is datastore.Entity


@pytest.mark.parametrize(
    "arguments",
    [
        ("--start-cursor", "é"),
        ("--start-cursor", ""),
        ("--start-cursor", "!!!!"),
        ("--start-cursor", "nonsense?"),
        ("--compress-from", "-1"),
        ("--kind", ""),
        ("--property", " "),
    ],
)
def test_bad_options(client: datastore.Client, arguments: tuple[str, ...]) -> None:
    assert run(client, *arguments).exit_code == 2
