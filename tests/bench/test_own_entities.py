from __future__ import annotations

import dataclasses
import socket
from collections.abc import Iterator
from concurrent import futures
from pathlib import Path
from typing import Any, NoReturn

import grpc
import pytest
from google.cloud import datastore

from lazyentity.bench import own_entities, run
from lazyentity.bench.cases import decoding, synthetic
from lazyentity.bench.harness import loopback, results
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.bench.subjects import conversion
from tests.support.benchmarks import ONCE, bench

HOST = "DATASTORE_EMULATOR_HOST"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    """A server that holds entities of the same kind, in several shapes."""
    with LoopbackServer() as running, loopback.client(running.grpc_port) as client:
        made = []
        for number in range(30):
            entity = synthetic.MIXES["nested" if number % 2 else "mixed"].entity(4 + number, number)
            made.append(datastore.Entity(client.key("Own", number + 1)))
            made[-1].update(entity)
        loopback.store(client, made)
        yield running


@pytest.fixture
def emulator(server: LoopbackServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HOST, f"127.0.0.1:{server.grpc_port}")


@pytest.mark.usefixtures("emulator")
def test_own_entities_become_cases() -> None:
    """Entities of different shapes are fetched, and decode the same on both sides."""
    raw = own_entities.Source("Own", 25, synthetic.PROJECT).fetch().raw
    assert len(raw) == 25
    made = own_entities.own_cases(raw, synthetic.READS)
    assert [case.read for case in made] == list(synthetic.READS)
    for case in made:
        assert case.entities == 25
        conversion.check_outputs(case)


@pytest.mark.usefixtures("emulator")
def test_named_properties() -> None:
    """They are read of the entities that have them; one that none has is an error."""
    raw = own_entities.Source("Own", 25, synthetic.PROJECT).fetch().raw
    nothing, named, everything = own_entities.own_cases(raw, (), ("text_000", "address_000"))
    assert [nothing.read, named.read, everything.read] == ["0", "text_000, address_000", "all"]
    assert isinstance(named.reader, decoding.ByName)
    assert {len(names) for names in named.reader.plan} == {1}
    conversion.check_outputs(named)
    with pytest.raises(own_entities.UnknownProperty, match=r"'txt_000'; did you mean 'text_000'\?"):
        own_entities.own_cases(raw, (), ("text_000", "txt_000"))


def test_reads_of_small_entities() -> None:
    """An entity that has fewer properties than are to be read is read whole."""
    assert own_entities.spread("4", ("a", "b")) == ("a", "b")
    assert own_entities.spread("4", ()) == ()
    assert own_entities.spread("1", ("a", "b", "c")) == ("a",)
    assert own_entities.spread("half", ("a", "b", "c", "d")) == ("a", "c")


@pytest.mark.usefixtures("emulator")
def test_command_on_own_entities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command measures the user's own entities and says whose they are."""
    monkeypatch.setattr(run, "QUICK", dataclasses.replace(run.QUICK, conversion=ONCE))
    output = tmp_path / "own.json"
    outcome = bench(
        *("--quick", "--kind=Own", "--limit=5", f"--project={synthetic.PROJECT}"),
        *(f"--output={output}", "--read=text_000, address_000", "--rate=50"),
    )
    assert outcome.exit_code == 0, outcome.output
    printed = " ".join(outcome.output.split())
    assert "5 entities of kind 'Own' from 127.0.0.1:" in printed
    assert "synthetic" not in printed
    assert "A query of 5 entities that reads text_000, address_000 takes" in printed
    assert "A service that sends 50 of them a second saves" in printed
    recorded = results.load(output)
    assert recorded.mode == "own"
    assert [line.read for line in recorded.conversion] == ["0", "text_000, address_000", "all"]
    assert recorded.own_call is not None
    assert (recorded.own_call.entities, recorded.own_call.rate) == (5, 50)


@pytest.mark.usefixtures("emulator")
def test_a_kind_without_entities() -> None:
    """A kind without entities is an error that names it."""
    with pytest.raises(own_entities.Unreachable, match="'Nothing'"):
        own_entities.Source("Nothing", 5, synthetic.PROJECT).fetch()


def own_command(
    monkeypatch: pytest.MonkeyPatch, host: str | None, output: Path, *options: str
) -> str:
    """The output of the command on entities of ``host``, which ends before it measures."""
    if host is not None:
        monkeypatch.setenv(HOST, host)
    monkeypatch.setattr(run, "run", lambda *_: pytest.fail("measuring started"))
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


@pytest.mark.parametrize(
    ("limit", "seconds", "said"),
    [("RPC_SECONDS", 0.5, ""), ("DEADLINE_SECONDS", 0.2, "no answer within 0.2 s")],
)
def test_nobody_answers(
    limit: str, seconds: float, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A host that accepts connections and says nothing is given up, with one clear error.

    A client that hangs before the first RPC is given up too.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(own_entities, limit, seconds)
        output = own_command(monkeypatch, host, tmp_path / "own.json")
    assert output.startswith(f"Error: cannot read kind 'Own' from {host}: ")
    assert said in output


@pytest.mark.usefixtures("emulator")
def test_a_property_that_no_entity_has(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is found before anything is measured."""
    options = f"--project={synthetic.PROJECT}", "--read=text_000,xyzzy"
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


def test_no_rights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A service that refuses is one sentence, too."""

    def refuse(request: bytes, context: grpc.ServicerContext) -> NoReturn:
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "Missing or insufficient permissions.")

    server = grpc.server(futures.ThreadPoolExecutor(1))
    handlers: dict[str, Any] = {"RunQuery": grpc.unary_unary_rpc_method_handler(refuse)}
    service = grpc.method_handlers_generic_handler("google.datastore.v1.Datastore", handlers)
    server.add_generic_rpc_handlers((service,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        output = own_command(monkeypatch, f"127.0.0.1:{port}", tmp_path / "own.json")
    finally:
        server.stop(None).wait()
    assert output == (
        f"Error: cannot read kind 'Own' from 127.0.0.1:{port}: 403 Missing or insufficient "
        "permissions.\n"
    )
