"""The line that says what is patched comes when somebody sees it: after logging was configured."""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud import datastore
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches import notices
from lazyentity.patches.clients import CLIENTS, ClientName
from tests.conftest import INSTALLED
from tests.support.concurrency import switching_often, together

_LOGGER = logging.getLogger("lazyentity")


class _Records(logging.Handler):
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._monkeypatch = monkeypatch

    def patch(self, *names: ClientName) -> None:
        """Patch as a program that has not configured logging.

        To be called in the test: pytest adds its own handlers after set-up.
        """
        self._monkeypatch.setattr(logging.getLogger(), "handlers", [])
        logging.getLogger().setLevel(logging.WARNING)
        _LOGGER.setLevel(logging.NOTSET)
        lazyentity.patch(*names)

    def configure(self) -> None:
        """Configure logging."""
        logging.getLogger().addHandler(self)
        logging.getLogger().setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(f"{record.levelname} {record.getMessage()}")


@pytest.fixture(autouse=True)
def _unpatched() -> Iterator[None]:
    root = logging.getLogger()
    levels = root.level, _LOGGER.level
    yield
    lazyentity.unpatch()
    root.setLevel(levels[0])
    _LOGGER.setLevel(levels[1])


@pytest.fixture
def records(monkeypatch: pytest.MonkeyPatch) -> _Records:
    return _Records(monkeypatch)


@pytest.fixture
def client() -> datastore.Client:
    client = datastore.Client(project="p", credentials=AnonymousCredentials())
    api = mock.Mock()
    api.lookup.return_value = datastore_pb2.LookupResponse()
    client._datastore_api_internal = api
    return client


def _read(client: datastore.Client) -> None:
    assert client.get(client.key("K", 1)) is None


def test_with_the_first_call_after_logging_was_configured(
    records: _Records, client: datastore.Client
) -> None:
    records.patch()
    _read(client)
    records.configure()
    assert records.texts == []
    _read(client)
    (text,) = records.texts
    assert text.startswith(f"INFO lazyentity {lazyentity.__version__}, ")
    assert "google-cloud-datastore" in text
    for _ in range(3):
        _read(client)
    assert records.texts == [text]
    assert not notices.waiting


def test_a_level_without_a_handler_is_not_configured(
    records: _Records, client: datastore.Client
) -> None:
    """The line would be lost."""
    records.patch()
    lazyentity.unpatch()
    _LOGGER.setLevel(logging.INFO)
    lazyentity.patch()
    _read(client)
    logging.getLogger().addHandler(records)
    _read(client)
    assert len(records.texts) == 1


def test_once_among_threads(records: _Records, client: datastore.Client) -> None:
    records.patch()
    records.configure()
    with switching_often():
        together(8, lambda _: _read(client))
    assert len(records.texts) == 1


def test_a_failure_of_the_line_fails_no_call(records: _Records, client: datastore.Client) -> None:
    """What describes must not take the place of what it describes."""
    records.patch()
    records.configure()
    with mock.patch("lazyentity.patches.expected_backend", side_effect=ImportError("no backend")):
        _read(client)
    _read(client)
    assert records.texts == []


_NOWHERE = "http://127.0.0.1:1/v1"


async def _lookup_async() -> None:
    from google.cloud.datastore_v1.services.datastore import DatastoreAsyncClient

    client: Any = DatastoreAsyncClient(credentials=AnonymousCredentials())
    await client.lookup(project_id=1)


def _call_ndb() -> None:
    from google.cloud.ndb import _datastore_api

    _datastore_api.stub()


def _call_rest() -> None:
    from gcloud.rest.datastore import Datastore

    kind: Any = Datastore
    kind("p", api_root=_NOWHERE).lookup([])


async def _call_aio() -> None:
    from gcloud.aio.datastore import Datastore

    kind: Any = Datastore
    async with kind("p", api_root=_NOWHERE) as datastore:
        await datastore.lookup([])


_CALLS: dict[str, Callable[[], object]] = {
    "datastore": lambda: asyncio.run(_lookup_async()),
    "ndb": _call_ndb,
    "gcloud-rest": _call_rest,
    "gcloud-aio": lambda: asyncio.run(_call_aio()),
}


_REST = pytest.mark.needs_native("clients of the REST API stay stock without it")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[_REST] * name.startswith("gcloud-")) for name in _CALLS],
)
def test_with_a_call_of_any_client(records: _Records, name: ClientName) -> None:
    """Whether the call succeeds or not."""
    if name not in INSTALLED:
        pytest.skip(f"{name} is not installed")
    # The import patches.
    importlib.import_module(CLIENTS[name].waits_for_import)
    records.patch(name)
    records.configure()
    assert records.texts == []
    with pytest.raises(Exception):  # noqa: B017, PT011  # whatever it is: there is no server
        _CALLS[name]()
    assert len(records.texts) == 1
