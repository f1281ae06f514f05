"""firebase-admin hands out the clients of google-cloud-firestore, which read lazily."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lazyentity
from tests.docs.pages import DOCS, python_blocks

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


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    """A file with credentials of a service account that nobody has."""
    rsa: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.rsa")
    serialization: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    content = {
        "type": "service_account",
        "project_id": "p",
        "client_email": "nobody@p.test",
        "private_key": pem.decode(),
        "token_uri": "https://oauth2.test/token",
    }
    path = tmp_path / "credentials.json"
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def recipes(credentials: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The page's programs with firebase-admin, and a server of three documents for each."""
    firebase_admin = pytest.importorskip("firebase_admin")
    page = (DOCS / "firestore.rst").read_text("utf-8")
    server: Any = importlib.import_module("tests.patches.firestore.server")
    with server.DocumentServer() as running:
        for number in range(3):
            running.put(f"users/{number}", {"name": f"user {number}"})
            running.put(f"orders/{number}", {"amount": 2.5 * number})
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{running.port}")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials))
        monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
        monkeypatch.delitem(sys.modules, "lazyentity.auto", raising=False)
        yield python_blocks(page.partition("\nWith firebase-admin\n")[2])
        lazyentity.unpatch()
        firebase_admin.delete_app(firebase_admin.get_app())


def _shown(block: str) -> dict[str, Any]:
    """Run the code of a page, and return its names."""
    shown: dict[str, Any] = {}
    exec(compile(block, "docs/firestore.rst", "exec"), shown)  # noqa: S102  # of a page
    return shown


def test_the_recipe_of_firebase_admin(recipes: list[str]) -> None:
    block, _ = recipes
    assert _shown(block)["names"] == ["user 0", "user 1", "user 2"]
    assert "firestore" in lazyentity.patched()


def test_the_recipe_of_fastapi(recipes: list[str]) -> None:
    testclient: Any = pytest.importorskip("fastapi.testclient")
    _, block = recipes
    answer = testclient.TestClient(_shown(block)["app"]).get("/orders")
    assert answer.json() == [{"amount": 0.0}, {"amount": 2.5}, {"amount": 5.0}]
    assert "firestore" in lazyentity.patched()
