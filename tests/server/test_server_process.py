"""The server as a process: starting, stopping, its transports' own errors, many threads."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping

import grpc
import pytest
from google.cloud.datastore_v1.types import datastore as datastore_types

from lazyentity.bench.server.datastore import DatastoreService
from lazyentity.bench.server.errors import Refusal
from lazyentity.bench.server.process import LoopbackServer
from tests.support.clients import make_client

SECONDS = 60
_PROTOBUF = {"Content-Type": "application/x-protobuf"}


def _post(
    server: LoopbackServer, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=SECONDS)
    try:
        connection.request("POST", path, body, {**_PROTOBUF, **(headers or {})})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """A server started as the command line does, ready to serve."""
    with subprocess.Popen(
        [sys.executable, "-m", "lazyentity.bench.server", "{}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert set(json.loads(process.stdout.readline())) == {"grpc", "http"}
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_cleanly(child: subprocess.Popen[str], number: signal.Signals) -> None:
    """SIGTERM and SIGINT end the server, the parent of which lives, with nothing to say."""
    child.send_signal(number)
    status = child.wait(SECONDS)
    assert child.stderr is not None
    assert (status, child.stderr.read()) == (0, "")


@pytest.mark.parametrize("is_loaded", [False, True])
def test_the_command_of_the_documentation(is_loaded: bool) -> None:
    """It prints the variable by which clients find it; --demo stores the orders of the examples."""
    command = [sys.executable, "-m", "lazyentity", "server", "--port", "0"]
    options = ["--demo"] * is_loaded
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline() for _ in range(3 + is_loaded)]
            assert lines[-3] == "serving until Ctrl-C; in another terminal:\n"
            name, _, host = lines[-1].removeprefix("export ").strip().partition("=")
            assert name == "DATASTORE_EMULATOR_HOST"
            client = make_client(int(host.rpartition(":")[2]), "grpc", project="demo")
            found = list(client.query(kind="Order").fetch())
            assert len(found) == 300 * is_loaded
            assert all(
                {"amount", "status"} <= order.keys() and len(order) == 100 for order in found
            )
            process.send_signal(signal.SIGINT)
            assert process.wait(SECONDS) == 0
        finally:
            process.kill()


def test_ports_that_cannot_be_used() -> None:
    """A port in use, and a number that is none, are one sentence, without a log of gRPC."""
    command = [sys.executable, "-m", "lazyentity", "server", "--port"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        sentences = {
            port: f"port {port} is in use, or not allowed; choose another with --port\n",
            "99999": "99999 is not in the range 0<=x<=65535.\n",
        }
        for given, sentence in sentences.items():
            done = subprocess.run(
                [*command, given], capture_output=True, text=True, timeout=SECONDS, check=False
            )
            assert done.returncode == 2
            assert done.stderr.endswith(sentence)
            assert "\n" not in done.stderr.removesuffix("\n").rpartition("Error: ")[2]


def test_it_ends_with_its_parent(child: subprocess.Popen[str]) -> None:
    """Closing its standard input ends the server."""
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(SECONDS) == 0


def test_a_server_that_cannot_start_is_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    """A child that ends before it answers raises, and its own complaint is on standard error."""
    with pytest.raises(RuntimeError, match="ended with status 1"), LoopbackServer(batch_size=0):
        pass
    assert "batch_size must be at least 1" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("path", "body", "status", "name"),
    [
        ("nothing", b"{}", 404, "NOT_FOUND"),
        ("lookup", b"{", 400, "INVALID_ARGUMENT"),
        ("runQuery", b'{"gqlQuery": {"queryString": "SELECT *"}}', 501, "UNIMPLEMENTED"),
    ],
)
def test_errors_in_json(
    server: LoopbackServer, path: str, body: bytes, status: int, name: str
) -> None:
    """A refusal is the error object of a REST interface."""
    answered, raw = _post(
        server, f"/v1/projects/p:{path}", body, {"Content-Type": "application/json"}
    )
    error = json.loads(raw)["error"]
    assert (answered, error["code"], error["status"]) == (status, status, name)


def test_defects_are_internal_errors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unexpected exception reaches the client as INTERNAL, and the log as a traceback."""

    def fail(*_: object) -> bytes:
        raise ZeroDivisionError

    monkeypatch.setattr(DatastoreService, "lookup", fail)
    request = datastore_types.LookupRequest.serialize({"project_id": "p"})
    with pytest.raises(Refusal, match="ZeroDivisionError") as raised:
        DatastoreService().call("Lookup", request)
    assert raised.value.code is grpc.StatusCode.INTERNAL
    assert "Traceback" in capsys.readouterr().err
