"""The programs in docs/recipes work, and answer the same with and without lazyentity."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import Any, Final

import pytest
from google.cloud import datastore

from lazyentity.bench.entities import orders
from lazyentity.bench.server.demo import ENTITIES, PROPERTIES
from lazyentity.bench.server.process import LoopbackServer
from tests.support import forks

from .pages import DOCS

# The uses of libraries in tests/adapters and tests/entity run with both backends.

_FASTAPI = """
import fastapi_app
from fastapi.testclient import TestClient

browser = TestClient(fastapi_app.app)
answers = [browser.get(path) for path in PATHS]
print(json.dumps([[answer.status_code, answer.json()] for answer in answers]))
"""

_FLASK = """
import flask_app

browser = flask_app.app.test_client()
answers = [browser.get(path) for path in PATHS]
print(json.dumps([[answer.status_code, answer.get_json(silent=True)] for answer in answers]))
"""

_DJANGO = """
import django
from django.conf import settings

template = "{{ product.amount }} {{ product.currency }}"
loader = "django.template.loaders.locmem.Loader", {"product.html": template}
engine = "django.template.backends.django.DjangoTemplates"
settings.configure(
    ROOT_URLCONF="django_views",
    ALLOWED_HOSTS=["testserver"],
    TEMPLATES=[{"BACKEND": engine, "OPTIONS": {"loaders": [loader]}}],
)
django.setup()
from django.test import Client

browser = Client()
one, missing, page = [browser.get(path) for path in PATHS]
print(json.dumps([one.json(), missing.status_code, page.content.decode()]))
"""

_TRACED = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from traced_client import client

client.get(client.key("Product", 1))
print(json.dumps([span.name.rpartition("/")[2] for span in exporter.get_finished_spans()]))
"""

_AIO = """
import asyncio

import aio_query

print(json.dumps(asyncio.run(aio_query.seats())))
"""

_PRODUCT: Final = {"amount": 12.5, "currency": "EUR", "note": "call first"}
_PART: Final = {"amount": 12.5, "currency": "EUR"}


def _run(program: str, server: LoopbackServer, *paths: str, port: int | None = None) -> Any:
    """Return the answer of a program without lazyentity, after that with it was found the same.

    The client connects to ``port``, that of gRPC by default.
    """
    start = f"import json, sys\nsys.path.insert(0, {str(DOCS / 'recipes')!r})\nPATHS = {paths}\n"
    environment = {
        "DATASTORE_EMULATOR_HOST": f"127.0.0.1:{port or server.grpc_port}",
        "GOOGLE_CLOUD_PROJECT": "demo",
    }
    answer = forks.answer("-c", start + program, **environment)
    stock = forks.answer("-c", start + program, LAZYENTITY_DISABLE="1", **environment)
    assert answer == stock
    return stock


@pytest.fixture
def product(emulated: LoopbackServer) -> LoopbackServer:
    """A server with one product."""
    client = datastore.Client(project="demo")
    stored = datastore.Entity(client.key("Product", 1))
    stored.update(_PRODUCT)
    client.put(stored)
    return emulated


def test_fastapi(product: LoopbackServer) -> None:
    pytest.importorskip("fastapi")
    pytest.importorskip("httpx")
    found, missing, every = _run(_FASTAPI, product, "/products/1", "/products/2", "/products")
    assert found == [200, _PART]
    assert missing[0] == 404
    assert every == [200, [_PART]]


def test_flask(product: LoopbackServer) -> None:
    pytest.importorskip("flask")
    found, missing, every = _run(_FLASK, product, "/products/1", "/products/2", "/products")
    assert found == [200, _PRODUCT]
    assert missing[0] == 404
    assert every == [200, [_PART]]


def test_django(product: LoopbackServer) -> None:
    pytest.importorskip("django")
    found, missing, page = _run(_DJANGO, product, "/products/1", "/products/2", "/products/1/page")
    assert found == _PRODUCT
    assert missing == 404
    assert page == "12.5 EUR"


def test_tracing(product: LoopbackServer) -> None:
    pytest.importorskip("opentelemetry.instrumentation.grpc")
    assert _run(_TRACED, product) == ["Lookup"]


def test_aio(emulated: LoopbackServer) -> None:
    pytest.importorskip("gcloud.aio.datastore")
    client = datastore.Client(project="demo")
    flight = datastore.Entity(client.key("Flight", 1))
    flight["seats"] = 180
    client.put(flight)
    assert _run(_AIO, emulated, port=emulated.http_port) == [180]


def test_packing_a_property(emulated: LoopbackServer) -> None:
    """Dicts and lists are packed, all else stays as it is; a second run packs nothing."""
    pytest.importorskip("orjson")
    from lazyentity.packed import is_packed, unpack

    client = datastore.Client(project="demo")
    values = {"dict": {"lines": [{"price": 2.5}]}, "list": [1, {"a": 1}], "text": "x", "none": None}
    for name, value in values.items():
        order = datastore.Entity(client.key("Unpacked", name), exclude_from_indexes=("other",))
        order.update(result=value, other=["kept", 1])
        client.put(order)
    for count in (2, 0):
        program = subprocess.run(
            [sys.executable, "pack_property.py", "Unpacked", "result"],
            cwd=DOCS / "recipes",
            env=os.environ | {"GOOGLE_CLOUD_PROJECT": "demo"},
            check=True,
            capture_output=True,
            text=True,
        )
        assert program.stdout == f"{count} entities were packed\n"
    for order in client.query(kind="Unpacked").fetch():
        value = order["result"]
        assert is_packed(value) == (order.key.name in ("dict", "list"))
        assert (unpack(value) if is_packed(value) else value) == values[order.key.name]
        assert order["other"] == ["kept", 1]
        assert ("result" in order.exclude_from_indexes) == is_packed(value)


@pytest.mark.parametrize("disabled", ["0", "1"])
def test_forked_workers(emulated: LoopbackServer, disabled: str) -> None:
    """Forked and spawned workers print what the page shows; without lazyentity, stock entities."""
    client = datastore.Client(project="demo")
    for number in (1, 2):
        job = datastore.Entity(client.key("Job", number))
        job["cost"] = 12.5 * number
        client.put(job)
    page = (DOCS / "guide" / "processes.rst").read_text("utf-8")
    shown = textwrap.dedent(page.split("$ python forked_workers.py\n")[1].split("\n\n")[0])
    program = subprocess.run(
        [sys.executable, str(DOCS / "recipes" / "forked_workers.py")],
        env=os.environ | {"LAZYENTITY_DISABLE": disabled},
        check=True,
        capture_output=True,
        text=True,
    )
    wanted = shown.replace("LazyEntity", "Entity") if disabled == "1" else shown
    assert program.stdout.rstrip() == wanted


def test_profile_of_a_report(emulated: LoopbackServer) -> None:
    """The profile of the orders of ``server --demo`` has every line that the page shows of it.

    The page leaves out the tables and the times.
    """
    client = datastore.Client(project="demo")
    entities = orders(ENTITIES, PROPERTIES)
    for number, order in enumerate(entities, start=1):
        order.key = client.key("Order", number)
    client.put_multi(entities)
    program = subprocess.run(
        [sys.executable, "report.py"],
        cwd=DOCS / "recipes",
        env=os.environ | {"LAZYENTITY_PROFILE": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert program.stdout == "11212.5\n"
    report = " ".join(program.stderr.split())
    page = (DOCS / "start" / "quickstart.rst").read_text("utf-8")
    shown = page.split("$ LAZYENTITY_PROFILE=1 python report.py\n")[1]
    lines = textwrap.dedent(shown.split("\n\n")[0]).splitlines()
    assert len(lines) == 4
    for line in lines:
        assert " ".join(line.split()) in report
