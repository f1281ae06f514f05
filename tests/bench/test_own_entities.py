from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from google.cloud import datastore

from lazyentity.bench import cli, own_entities, run
from lazyentity.bench.cases import synthetic
from lazyentity.bench.measure import conversion, loopback
from lazyentity.bench.server.process import LoopbackServer

HOST = "DATASTORE_EMULATOR_HOST"


@pytest.fixture(scope="module")
def server() -> Iterator[LoopbackServer]:
    """A server that holds entities of one kind, of several shapes."""
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
    raw = own_entities.Source("Own", 25, synthetic.PROJECT).fetch()
    assert len(raw) == 25
    made = own_entities.own_cases(raw, synthetic.READS)
    assert [case.read for case in made] == list(synthetic.READS)
    for case in made:
        assert case.entities == 25
        conversion.check_outputs(case)


def test_reads_of_small_entities() -> None:
    """An entity that has fewer properties than are to be read is read whole."""
    assert own_entities.spread("4", ("a", "b")) == ("a", "b")
    assert own_entities.spread("4", ()) == ()
    assert own_entities.spread("1", ("a", "b", "c")) == ("a",)
    assert own_entities.spread("half", ("a", "b", "c", "d")) == ("a", "c")


@pytest.mark.usefixtures("emulator")
def test_command_on_own_entities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command measures the user's own entities and says whose they are."""
    monkeypatch.setattr(synthetic, "READS", ("1", "all"))
    output = tmp_path / "own.json"
    outcome = CliRunner().invoke(
        cli.main,
        [
            "--quick",
            "--kind=Own",
            "--limit=5",
            f"--project={synthetic.PROJECT}",
            f"--output={output}",
        ],
    )
    assert outcome.exit_code == 0, outcome.output
    assert "5 entities of kind 'Own' from 127.0.0.1:" in outcome.output
    recorded = json.loads(output.read_text(encoding="utf-8"))
    assert recorded["mode"] == "own"
    assert [line["read"] for line in recorded["conversion"]] == ["1", "all"]


@pytest.mark.usefixtures("emulator")
def test_a_kind_without_entities() -> None:
    """A kind without entities is an error that names it."""
    with pytest.raises(own_entities.Unreachable, match="'Nothing'"):
        own_entities.Source("Nothing", 5, synthetic.PROJECT).fetch()


def own_command(monkeypatch: pytest.MonkeyPatch, host: str, output: Path) -> str:
    """The output of the command on entities of ``host``, which ends before it measures."""
    monkeypatch.setenv(HOST, host)
    monkeypatch.setattr(run, "run", lambda *_: pytest.fail("measuring started"))
    outcome = CliRunner().invoke(
        cli.main, ["--project", "p", "--kind", "Own", "--output", str(output)]
    )
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
        monkeypatch.setattr(own_entities, "RPC_SECONDS", 0.5)
        output = own_command(monkeypatch, host, tmp_path / "own.json")
    assert output.startswith(f"Error: cannot read kind 'Own' from {host}: ")


def test_even_the_search_for_credentials_has_an_end(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A client that hangs before the first RPC is given up too."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(own_entities, "DEADLINE_SECONDS", 0.2)
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        output = own_command(monkeypatch, host, tmp_path / "own.json")
    assert "no answer within 0.2 s" in output
