"""A model of pydantic takes few properties: the profile says so, at a line of the application."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from google.cloud import datastore

import lazyentity
from lazyentity.bench.server.process import LoopbackServer
from lazyentity.profiling.report import Report
from tests.support.asgi import request_of
from tests.support.clients import close, make_client

PROPERTIES = 63
MODEL = f"Order takes 3 of {PROPERTIES} properties"
TO_DICT = "lazyentity.to_dict(entity, *Order.model_fields)"

SERVICE = """
import fastapi
import pydantic
import lazyentity

class Order(pydantic.BaseModel):
    p0: int
    p1: int
    p2: int

app = fastapi.FastAPI()

def read():
    entity = client.get(client.key("Served", 1))
    return entity

@app.get("/sync", response_model=Order)
def sync():
    entity = client.get(client.key("Served", 1))
    return entity

@app.get("/async", response_model=Order)
async def asynchronous():
    entity = client.get(client.key("Served", 1))
    return entity

@app.get("/annotated")
def annotated() -> Order:
    entity = client.get(client.key("Served", 1))
    return entity

@app.get("/list", response_model=list[Order])
def several():
    entity = client.get(client.key("Served", 1))
    return [entity]

@app.get("/dependency", response_model=Order | None)
def dependency(entity=fastapi.Depends(read)):
    return entity

@app.get("/validated")
def validated():
    entity = client.get(client.key("Served", 1))
    return Order.model_validate(entity)

@app.get("/whole")
def whole():
    entity = client.get(client.key("Served", 1))
    return entity

class Middleware:
    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)
"""

PATHS = {
    "/sync": "sync",
    "/async": "asynchronous",
    "/annotated": "annotated",
    "/list": "several",
    "/dependency": "read",
    "/validated": "validated",
}
"""The function whose line the profile names, for each path that validates."""

_numbers = itertools.count()


@pytest.fixture(scope="module")
def client() -> Iterator[datastore.Client]:
    with LoopbackServer() as server:
        made = make_client(server.grpc_port, "grpc")
        entity = datastore.Entity(made.key("Served", 1))
        entity.update({f"p{number}": number for number in range(PROPERTIES)})
        made.put(entity)
        yield made
        close(made)


@pytest.fixture(autouse=True)
def _stock_afterwards() -> Iterator[None]:
    yield
    lazyentity.unpatch()


def _service(folder: Path, source: str, client: datastore.Client) -> ModuleType:
    """Return the service as a module with a separate file."""
    module = ModuleType(f"profiled_service_{next(_numbers)}")
    module.__file__ = str(folder / f"{module.__name__}.py")
    vars(module)["client"] = client
    exec(compile(source, module.__file__, "exec", dont_inherit=True), vars(module))  # noqa: S102  # code of the test
    return module


def _get(application: Any, path: str) -> tuple[Any, Report]:
    """Ask as a server does."""
    request = request_of(application, path)
    with lazyentity.profile() as profile:
        sent = asyncio.run(request())
    answer = b"".join(message.get("body", b"") for message in sent)
    return json.loads(answer), profile.report()


def _line_in(source: str, function: str, text: str) -> int:
    """Return the number of the first line of a function that has a text."""
    before, found, after = re.split(rf"(def {function}\b)", source)
    inside = after.partition(text)[0]
    return (before + found + inside).count("\n") + 1


@pytest.mark.parametrize("is_around", [False, True])
@pytest.mark.parametrize("path", PATHS)
def test_a_model(client: datastore.Client, tmp_path: Path, path: str, is_around: bool) -> None:
    """The advice is followed at the line: the answer is the same, and three are decoded."""
    lazyentity.patch("datastore", strict=True)
    service = _service(tmp_path, SERVICE, client)
    application = service.Middleware(service.app) if is_around else service.app
    expected, report = _get(application, path)
    assert expected in ({"p0": 0, "p1": 1, "p2": 2}, [{"p0": 0, "p1": 1, "p2": 2}])
    (whole,) = report.wholes
    is_called = path == "/validated"
    text = "Order.model_validate(" if is_called else "client.get("
    line = _line_in(SERVICE, PATHS[path], text)
    assert whole.site[:3] == (service.__file__, line, PATHS[path])
    assert whole.site.is_earlier != is_called
    assert is_called or whole.site.via.startswith("fastapi.")
    (reads,) = report.sites
    assert "save nothing" not in reads.suggestion.reason
    (advice,) = report.advice
    assert (advice.site, advice.call) == (whole.site, TO_DICT)
    assert advice.place.endswith(MODEL)
    lines = SERVICE.splitlines()
    # After that line, the function hands the entity on.
    index = line - 1 if is_called else line
    changed = re.sub(r"\bentity\b", TO_DICT, lines[index])
    assert changed != lines[index]
    lines[index] = changed
    service = _service(tmp_path, "\n".join(lines), client)
    application = service.Middleware(service.app) if is_around else service.app
    answer, report = _get(application, path)
    assert answer == expected
    (kind,) = report.kinds
    assert (kind.properties_decoded, kind.properties_received) == (3, PROPERTIES)
    assert not report.wholes


def test_no_model(client: datastore.Client, tmp_path: Path) -> None:
    """The framework encodes the whole entity: its line is named, and nothing is to be changed."""
    lazyentity.patch("datastore", strict=True)
    service = _service(tmp_path, SERVICE, client)
    answer, report = _get(service.app, "/whole")
    assert len(answer) == PROPERTIES
    (whole,) = report.wholes
    line = _line_in(SERVICE, "whole", "client.get(")
    assert whole.site[:3] == (service.__file__, line, "whole")
    assert whole.site.is_earlier
    assert not report.advice
