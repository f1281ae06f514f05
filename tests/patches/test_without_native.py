"""Clients that need the native backend stay stock where the pure one serves, and it is told."""

from __future__ import annotations

from typing import Any

import pytest

from lazyentity.patches.clients import CLIENTS
from tests.conftest import INSTALLED
from tests.support.forks import answer

_PROGRAM = """
import importlib, json, warnings
import lazyentity

def outcome(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    lazyentity.patch()
    quiet = len(caught)
    importlib.import_module(IMPORTED)
    for _ in range(2):
        lazyentity.patch()
print(json.dumps({
    "backend": lazyentity.backend,
    "patched": lazyentity.patched(),
    "quiet": quiet,
    "told": [str(one.message) for one in caught],
    "strict": outcome(lambda: lazyentity.patch(NAME, strict=True)),
}))
"""

NEEDING = [name for name in INSTALLED if CLIENTS[name].needs_native]


def test_datastore_and_ndb_need_it_not() -> None:
    served = [name for name, client in CLIENTS.items() if not client.needs_native]
    assert served == ["datastore", "ndb"]


@pytest.mark.parametrize("name", NEEDING)
def test_it_is_told_once_and_stays_stock(name: str) -> None:
    """As soon as the client is imported or named; ``strict`` raises where it is named."""
    client = CLIENTS[name]
    constants = f"NAME, IMPORTED = {name!r}, {client.waits_for_import!r}\n"
    state: Any = answer("-c", constants + _PROGRAM, LAZYENTITY_BACKEND="pure")
    assert state["backend"] == "pure"
    assert not set(state["patched"]) & set(NEEDING)
    assert state["quiet"] == 0
    (told,) = state["told"]
    for text in (told, state["strict"]):
        assert client.distribution in text
        assert "without the native backend" in text
        assert "unset the variable" in text


@pytest.mark.skipif("firestore" not in INSTALLED, reason="google-cloud-firestore is not installed")
def test_wrap_refuses() -> None:
    program = """
import json
import lazyentity
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
client = firestore.Client(project="p", credentials=AnonymousCredentials())
try:
    lazyentity.wrap(client)
except RuntimeError as error:
    print(json.dumps(str(error)))
"""
    assert answer("-c", program, LAZYENTITY_BACKEND="pure") == (
        "wrap() of google-cloud-firestore needs the native backend"
    )
