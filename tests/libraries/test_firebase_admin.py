"""firebase-admin hands out the clients of google-cloud-firestore, which read lazily."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity

pytestmark = pytest.mark.upstream


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An application of a loopback server with three documents."""
    firebase_admin = pytest.importorskip("firebase_admin")
    # The client comes with that library.
    server: Any = importlib.import_module("tests.patches.firestore.server")
    credentials: Any = importlib.import_module("google.auth.credentials")

    class Credential(firebase_admin.credentials.Base):  # type: ignore[misc, name-defined]  # of Any
        def get_credential(self) -> Any:
            return credentials.AnonymousCredentials()

    with server.DocumentServer() as running:
        for number in range(3):
            running.put(f"things/{number}", {"number": number})
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{running.port}")
        made = firebase_admin.initialize_app(Credential(), {"projectId": "p"})
        yield made
        lazyentity.unpatch("firestore")
        firebase_admin.delete_app(made)


def _told(snapshots: list[Any]) -> Any:
    lazy = {"_data" not in vars(each) for each in snapshots}
    return lazy, [(each.id, each.to_dict(), each.get("number")) for each in snapshots]


def test_firestore(application: Any) -> None:
    firestore: Any = importlib.import_module("firebase_admin.firestore")

    def read() -> Any:
        things = firestore.client(application).collection("things")
        return _told([*things.stream(), things.document("1").get()])

    lazy, stock = read()
    assert lazy == {False}
    lazyentity.patch("firestore", strict=True)
    assert read() == ({True}, stock)


def test_firestore_async(application: Any) -> None:
    firestore: Any = importlib.import_module("firebase_admin.firestore_async")

    async def read() -> Any:
        things = firestore.client(application).collection("things")
        return _told([*[each async for each in things.stream()], await things.document("1").get()])

    async def both() -> None:
        lazy, stock = await read()
        assert lazy == {False}
        lazyentity.patch("firestore", strict=True)
        assert await read() == ({True}, stock)

    asyncio.run(asyncio.wait_for(both(), 60))
