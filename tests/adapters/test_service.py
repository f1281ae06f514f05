"""A FastAPI service answers real requests as it does with the stock client."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.cloud import datastore

from lazyentity.bench.server.process import LoopbackServer
from tests.conftest import IMPLEMENTATIONS
from tests.support.clients import close, make_client

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

_ROOT = Path(__file__).parents[2]
_SECRETS = {"iban": "DE00", "password_hash": "x"}


@contextlib.contextmanager
def _service(*arguments: str, **environment: str) -> Iterator[int]:
    service = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", "tests.adapters.service", *arguments],
        cwd=_ROOT,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert service.stdout is not None
        yield int(service.stdout.readline())
    finally:
        service.kill()
        service.communicate()


def _answer(port: int, path: str) -> Any:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as response:
            status, kind, body = response.status, response.headers["content-type"], response.read()
    except urllib.error.HTTPError as error:
        with error:
            status, kind, body = error.code, error.headers["content-type"], error.read()
    if body[:1] in (b"{", b"["):
        body = json.loads(body)
    return status, kind, body


@pytest.fixture(scope="module")
def ports() -> Iterator[dict[str, int]]:
    """Ports of the service: with the stock client, and with lazy entities of each backend."""
    service = pytest.importorskip("tests.adapters.service")
    with LoopbackServer() as server, contextlib.ExitStack() as running:
        client = make_client(server.grpc_port, "grpc")
        for number in range(service.COUNT):
            entity = datastore.Entity(client.key(service.KIND, number + 1))
            inner = datastore.Entity()
            inner.update({"deep": "value", **_SECRETS})
            entity.update({"text": f"text {number}", "number": number, "inner": inner, **_SECRETS})
            entity["inners"] = [inner, inner]
            client.put(entity)
        close(client)
        started = {"stock": running.enter_context(_service(str(server.grpc_port)))}
        for backend in IMPLEMENTATIONS:
            started[backend] = running.enter_context(
                _service(str(server.grpc_port), "lazy", LAZYENTITY_BACKEND=backend)
            )
        yield started


@pytest.mark.parametrize("backend", list(IMPLEMENTATIONS))
def test_answers_like_stock(ports: dict[str, int], backend: str) -> None:
    service = pytest.importorskip("tests.adapters.service")
    answers = {path: _answer(ports[backend], path) for path in service.PATHS}
    assert answers == {path: _answer(ports["stock"], path) for path in service.PATHS}
    assert {status for status, _, _ in answers.values()} == {200, 500}
    assert len(answers) > 30
