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
from google.cloud.datastore_v1.services.datastore import DatastoreAsyncClient
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from lazyentity.patches import notices
from lazyentity.patches.clients import ClientName
from tests.patches.clients.conftest import NAMES
from tests.patches.clients.subjects import SUBJECTS, Subject
from tests.support.clients import TRANSPORTS
from tests.support.concurrency import switching_often, together

_LOGGER = logging.getLogger("lazyentity")

CALLING = [name for name in NAMES if SUBJECTS[name].server in TRANSPORTS]
"""The clients that send RPCs of Datastore."""


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
def _levels() -> Iterator[None]:
    root = logging.getLogger()
    levels = root.level, _LOGGER.level
    yield
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


async def _look_up() -> None:
    client: Any = DatastoreAsyncClient(credentials=AnonymousCredentials())
    with pytest.raises(TypeError):
        await client.lookup(project_id=1)


def test_with_a_call_of_the_asyncio_client(records: _Records) -> None:
    """Whether the call succeeds or not."""
    records.patch()
    records.configure()
    asyncio.run(_look_up())
    assert len(records.texts) == 1


@pytest.mark.parametrize("subject", CALLING, indirect=True)
def test_with_a_call_of_any_client(
    records: _Records, subject: Subject, is_lazy: Callable[[], bool]
) -> None:
    importlib.import_module(subject.module)
    records.patch(subject.client)
    records.configure()
    assert records.texts == []
    assert is_lazy()
    assert len(records.texts) == 1
