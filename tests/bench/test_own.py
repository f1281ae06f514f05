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
FIRESTORE_HOST = "FIRESTORE_EMULATOR_HOST"


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
    """Entities of different shapes are fetched, and decode the same on both sides."""
    fetched = own.Source("Own", 25, entities.PROJECT).fetch()
    made = fetched.cases()
    assert [case.done for case in made] == ["0", "1", "4", "half", "all", "items"]
    for case in made:
        assert case.entities == 25
        measure(case, ONCE)


@pytest.mark.usefixtures("emulator")
def test_named_properties() -> None:
    """They are read of the entities that have them; one that none has is an error."""
    fetched = own.Source("Own", 25, entities.PROJECT).fetch()
    made = fetched.cases(("text_000", "address_000"))
    assert [case.done for case in made] == ["0", "text_000, address_000", "all"]
    for case in made:
        measure(case, ONCE)
    with pytest.raises(own.UnknownProperty, match=r"'txt_000'; did you mean 'text_000'\?"):
        fetched.cases(("text_000", "txt_000"))


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


@pytest.fixture(scope="module")
def documents() -> Iterator[LoopbackServer]:
    """A server with the documents of the demonstration."""
    pytest.importorskip("google.cloud.firestore")
    with LoopbackServer(demo=True, firestore=True) as running:
        yield running


class TestDocuments:
    """The same of documents of Firestore."""

    @pytest.fixture(autouse=True)
    def _emulator(self, documents: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(FIRESTORE_HOST, f"127.0.0.1:{documents.grpc_port}")
        monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)

    @pytest.mark.usefixtures("quick")
    def test_the_command(self, tmp_path: Path) -> None:
        output = tmp_path / "own.json"
        given = [
            "--firestore",
            "--collection",
            "orders",
            "--limit",
            "50",
            "--read",
            "amount,status",
        ]
        outcome = bench("--quick", *given, "--output", output)
        assert outcome.exit_code == 0, outcome.output
        printed = " ".join(outcome.output.split())
        assert "50 documents of collection 'orders' from 127.0.0.1:" in printed
        assert "A query of 50 entities that reads amount, status takes" in printed
        assert [line.done for line in results.load(output).lines] == ["0", "amount, status", "all"]

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--collection", "nothing"), "there is nothing of collection 'nothing' from"),
            (("--collection", "orders", "--read", "amunt"), "did you mean 'amount'?"),
        ],
    )
    def test_errors(self, options: tuple[str, ...], said: str, tmp_path: Path) -> None:
        outcome = bench("--firestore", *options, "--output", tmp_path / "own.json")
        assert outcome.exit_code == 2
        assert said in outcome.output


@pytest.mark.usefixtures("emulator")
def test_a_kind_without_entities() -> None:
    """A kind without entities is an error that names it."""
    with pytest.raises(own.Unreachable, match="'Nothing'"):
        own.Source("Nothing", 5, entities.PROJECT).fetch()


def own_command(
    monkeypatch: pytest.MonkeyPatch, host: str | None, output: Path, *options: str
) -> str:
    """The output of the command on entities of ``host``, which ends before it measures."""
    if host is not None:
        monkeypatch.setenv(HOST, host)
    monkeypatch.setattr(harness, "measure", lambda *_: pytest.fail("measuring started"))
    outcome = bench("--project", "p", "--kind", "Own", "--output", output, *options)
    assert outcome.exit_code == 2
    assert not output.exists()
    return outcome.output


def test_nobody_listens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host that refuses connections is one clear error."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{unused.getsockname()[1]}"
        output = own_command(monkeypatch, host, tmp_path / "own.json")
    assert output.startswith(f"Error: cannot read kind 'Own' from {host}: ")


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A host that accepts connections and says nothing is given up, with one clear error."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(own, "RPC_SECONDS", 0.5)
        output = own_command(monkeypatch, host, tmp_path / "own.json")
    assert output.startswith(f"Error: cannot read kind 'Own' from {host}: ")


@pytest.mark.usefixtures("emulator")
def test_a_property_that_no_entity_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is found before anything is measured."""
    options = f"--project={entities.PROJECT}", "--read=text_000,xyzzy"
    output = own_command(monkeypatch, None, tmp_path / "own.json", *options)
    assert output == "Error: no entity that was read has a property 'xyzzy'; check the name\n"


def test_no_credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without an emulator and credentials, the client's own sentence says what to do."""
    monkeypatch.delenv(HOST, raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    output = own_command(monkeypatch, None, tmp_path / "own.json")
    assert output.startswith("Error: cannot read kind 'Own' from the Datastore service: ")
    assert "missing.json was not found" in output
    assert output.count("\n") == 1


def exactly(value: float) -> Summary:
    return Summary(value, value, value, 5)


def make_own(reads: tuple[str, ...], undecoded_ms: float = 20.1) -> Results:
    """A query of 100 entities: 100 µs each in stock, and 1 µs or 10 µs in lazyentity."""
    line = make_line("entities", 100, "0", PER_ENTITY)
    lines = [
        dataclasses.replace(
            line, done=read, stock=exactly(100), lazy=exactly(1 if read == "0" else 10)
        )
        for read in reads
    ]
    call = OwnCall(entities=100, rate=50, undecoded=exactly(undecoded_ms))
    return Results("datastore", lines, "own", own_call=call)


def test_shares() -> None:
    """Decoding is added to the rest of the call, the same on both sides."""
    nothing, named = own.calls(make_own(("0", "a, b")))
    assert named.rest == pytest.approx(20)
    assert named.stock == pytest.approx(30)
    assert named.lazy == pytest.approx(21)
    assert nothing.lazy == pytest.approx(20.1)
    assert named.cores_saved(50) == pytest.approx(0.45)
    assert named.sentence(50) == (
        "A query of 100 entities that reads a, b takes 30.0 ms, of which 33% is decoding. With "
        "lazyentity it takes 21.0 ms, of which 5% is decoding. A service that sends 50 of them a "
        "second saves 0.45 CPU cores."
    )
    assert named.cells(50) == ("a, b", "30.0", "33%", "21.0", "5%", "0.45")


@pytest.mark.parametrize("missing", ["call", "read"])
def test_an_interrupted_run(missing: str) -> None:
    """Nothing is said that was not measured."""
    made = make_own(("a, b",)) if missing == "read" else make_own(("0",))
    if missing == "call":
        made = dataclasses.replace(made, own_call=None)
    assert list(own.calls(made)) == []
    assert own.outcome(made) is None
