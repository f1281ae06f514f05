"""The results name the versions of all clients that were measured."""

from __future__ import annotations

import sys
import types
from importlib import metadata

import pytest

from lazyentity.bench.harness import environment
from lazyentity.patches.clients import CLIENTS

pytestmark = pytest.mark.any_backend


@pytest.mark.parametrize("name", CLIENTS)
def test_an_imported_client_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is the client that is required; each other one, only if it is imported."""
    client = CLIENTS[name]
    for other in CLIENTS.values():
        monkeypatch.delitem(sys.modules, other.waits_for_import, raising=False)
    monkeypatch.setitem(sys.modules, client.waits_for_import, types.ModuleType("imported"))
    monkeypatch.setattr(metadata, "version", "version of {}".format)
    versions = environment.describe("pure").versions
    known = {each.distribution for each in CLIENTS.values()}
    required = CLIENTS["datastore"].distribution
    assert known & versions.keys() == {required, client.distribution}
    assert versions[client.distribution] == f"version of {client.distribution}"
