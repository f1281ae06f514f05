"""The examples of the page on Firestore run as a reader copies them, against a loopback server."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity

from .pages import DOCS, python_blocks

PAGE = (DOCS / "firestore.rst").read_text("utf-8")


@pytest.fixture
def documents(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A server where the clients of the examples look for one, and no patch left behind."""
    pytest.importorskip("google.cloud.firestore")
    server: Any = importlib.import_module("tests.patches.firestore.server")
    with server.DocumentServer() as running:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{running.port}")
        monkeypatch.delitem(sys.modules, "lazyentity.auto", raising=False)
        yield
        lazyentity.unpatch()


def test_examples(documents: None) -> None:
    """In their order; the examples of firebase-admin need that library, and stand at the end."""
    blocks = python_blocks(PAGE.partition("\nWith firebase-admin\n")[0])
    shown: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/firestore.rst", "exec"), shown)  # noqa: S102  # of a page
    assert len(blocks) == 5
    assert "firestore" in lazyentity.patched()
    assert shown["total"] == 0
    assert list(shown["frame"].columns) == ["amount", "customer.country", "created"]
    assert list(shown["frame"]["amount"]) == [12.5]
    assert shown["again"].to_dict() == shown["snapshot"].to_dict()
    assert shown["again"].get("lines") == [{"sku": "a", "quantity": 1}]
