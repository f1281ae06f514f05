"""The comparison on the user's own entities and documents: it reads, and says what is saved."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from google.cloud import datastore

from lazyentity.bench import entities, harness, loopback, own, results
from lazyentity.bench.harness import PER_ENTITY, measure
from lazyentity.bench.results import OwnCall, Results, Summary
from lazyentity.bench.server.process import LoopbackServer
from tests.support.benchmarks import ONCE, bench

from .made import make_line

HOST = "DATASTORE_EMULATOR_HOST"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    """A server with the orders of the demonstration, and a kind of entities in several shapes."""
    with LoopbackServer(demo=True) as running, loopback.client(running.grpc_port) as client:
        made = []
        for number in range(30):
            entity = entities.MIXES["nested" if number % 2 else "mixed"].entity(4 + number, number)
            made.append(datastore.Entity(client.key("Own", number + 1)))
            made[-1].update(entity)
        loopback.store(client, made)
        yield running


@pytest.fixture
def emulator(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOST, f"127.0.0.1:{server.grpc_port}")
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each case is measured once."""
    plan = dataclasses.replace(harness.QUICK, per_entity=ONCE)
    monkeypatch.setattr(harness, "QUICK", plan)


@pytest.mark.usefixtures("emulator")
def test_own_entities_become_cases() -> None:
    """Entities of different shapes are fetched, and decode the same on both sides.

    Named properties are read of the entities that have them.
    """
    found = own.entities("Own", 25, entities.PROJECT)
    made, named = found.cases(), found.cases(("text_000", "address_000"))
    assert [case.done for case in made] == ["0", "1", "4", "half", "all", "items"]
    assert [case.done for case in named] == ["0", "text_000, address_000", "all"]
    for case in (*made, *named):
        assert case.entities == 25
        measure(case, ONCE)


@pytest.mark.usefixtures("emulator", "quick")
def test_the_command_of_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It needs no credentials and no project, only the variable that names the server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    output = tmp_path / "own.json"
    given = ["--kind", "Order", "--read", "amount,status", "--rate", "200"]
    outcome = bench("--quick", *given, "--output", output)
    assert outcome.exit_code == 0, outcome.output
    printed = " ".join(outcome.output.split())
    assert "300 entities of kind 'Order' from 127.0.0.1:" in printed
    assert "synthetic" not in printed
    assert "A query of 300 entities that reads amount, status takes" in printed
    assert "A service that sends 200 of them a second saves" in printed
    recorded = results.load(output)
    assert (recorded.client, recorded.mode) == ("datastore", "own")
    assert [line.done for line in recorded.lines] == ["0", "amount, status", "all"]
    assert recorded.own_call is not None
    assert (recorded.own_call.entities, recorded.own_call.rate) == (300, 200)


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server with the documents of the demonstration, where the client looks for it."""
    pytest.importorskip("google.cloud.firestore")
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
    with LoopbackServer(demo=True, firestore=True) as running:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{running.grpc_port}")
        yield


@pytest.mark.usefixtures("documents", "quick")
def test_documents(tmp_path: Path) -> None:
    given = ["--firestore", "--collection", "orders", "--limit", "50"]
    output = tmp_path / "own.json"
    outcome = bench("--quick", *given, "--output", output)
    assert outcome.exit_code == 0, outcome.output
    printed = " ".join(outcome.output.split())
    assert "50 documents of collection 'orders' from 127.0.0.1:" in printed
    assert "A query of 50 entities that reads all properties takes" in printed
    assert [line.done for line in results.load(output).lines] == ["0", "1", "4", "half", "all"]
    for options, said in (
        (("--collection", "nothing"), "there is nothing of collection 'nothing' from"),
        (("--collection", "orders", "--read", "amunt"), "did you mean 'amount'?"),
    ):
        outcome = bench("--firestore", *options, "--output", output)
        assert outcome.exit_code == 2
        assert said in outcome.output


def _error(monkeypatch: pytest.MonkeyPatch, output: Path, *options: str) -> str:
    """The output of a command that ends before it measures."""
    monkeypatch.setattr(harness, "measure", lambda *_: pytest.fail("measuring started"))
    outcome = bench("--kind", "Own", "--output", output, *options)
    assert outcome.exit_code == 2
    assert not output.exists()
    return outcome.output


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host that refuses connections, or says nothing, is given up with one clear error."""
    monkeypatch.setattr(own, "RPC_SECONDS", 0.5)
    with socket.socket() as unused, socket.create_server(("127.0.0.1", 0)) as silent:
        unused.bind(("127.0.0.1", 0))
        for listening in (unused, silent):
            host = f"127.0.0.1:{listening.getsockname()[1]}"
            monkeypatch.setenv(HOST, host)
            output = _error(monkeypatch, tmp_path / "own.json", "--project=p")
            assert output.startswith(f"Error: cannot read kind 'Own' from {host}: ")


@pytest.mark.usefixtures("emulator")
@pytest.mark.parametrize(
    ("option", "error"),
    [
        ("--read=text_000,xyzzy", "no entity that was read has a property 'xyzzy'; check the name"),
        ("--namespace=none", "there is nothing of kind 'Own' from 127.0.0.1:"),
    ],
)
def test_what_no_entity_has(
    option: str, error: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    project = f"--project={entities.PROJECT}"
    output = _error(monkeypatch, tmp_path / "own.json", project, option)
    assert output.startswith(f"Error: {error}")


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without an emulator and credentials, the client's own sentence says what to do."""
    monkeypatch.delenv(HOST, raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    output = _error(monkeypatch, tmp_path / "own.json", "--project=p")
    assert output.startswith("Error: cannot read kind 'Own' from the Datastore service: ")
    assert "missing.json was not found" in output
    assert output.count("\n") == 1


def test_shares() -> None:
    """Decoding is added to the rest of the call, the same on both sides.

    Nothing is said that was not measured.
    """
    line = make_line("entities", 100, "0", PER_ENTITY)
    lines = [
        dataclasses.replace(line, done=read, stock=_exactly(100), lazy=_exactly(lazy))
        for read, lazy in (("0", 1), ("a, b", 10))
    ]
    call = OwnCall(entities=100, rate=50, undecoded=_exactly(20.1))
    measured = Results("datastore", lines, "own", own_call=call)
    _, named = own.calls(measured)
    assert named.rest == pytest.approx(20)
    assert named.cells() == ("a, b", "30.0", "33%", "21.0", "5%", "0.45")
    assert own.outcome(measured) == (
        "A query of 100 entities that reads a, b takes 30.0 ms, of which 33% is decoding. With "
        "lazyentity it takes 21.0 ms, of which 5% is decoding. A service that sends 50 of them a "
        "second saves 0.45 CPU cores."
    )
    for interrupted in (
        dataclasses.replace(measured, lines=lines[1:]),
        dataclasses.replace(measured, lines=lines[:1]),
        dataclasses.replace(measured, own_call=None),
    ):
        assert own.outcome(interrupted) is None


def _exactly(value: float) -> Summary:
    return Summary(value, value, value, 5)
