"""A later version in which one private name is gone: one warning and a stock client, no error."""

from __future__ import annotations

import contextlib
import functools
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lazyentity.bench.server.process import LoopbackServer
from lazyentity.patches.clients import CLIENTS
from tests.conftest import HAS_NDB, INSTALLED
from tests.support.subprocesses import clean_environment
from tests.versions.names import API_PACKAGES, names_in, private_names

_UNCHANGED = "_no_such_name"
# Not the clients' alone: google-cloud-core, protobuf and named tuples have them, too. The first is
# no attribute, but a key of a dict that ndb's properties fill.
_SHARED = frozenset(
    [
        *("_exclude_from_indexes", "_datetime_to_pb_timestamp", "_helpers", "_http"),
        *("_message", "_replace", "_value"),
    ]
)
# The class that shows that a client is patched, and how the names of its calls begin.
_KINDS = {
    "datastore": ("LazyEntity", "grpc "),
    "ndb": ("LazyValues", "ndb "),
    "firestore": ("LazySnapshot", "documents "),
}


@functools.cache
def _names() -> list[str]:
    return sorted(set(private_names()) - _SHARED)


@contextlib.contextmanager
def _documents_port() -> Iterator[int]:
    """The port of a server of documents; 0, if their client is not installed."""
    if "firestore" not in INSTALLED:
        yield 0
        return
    from tests.patches.firestore.server import DocumentServer

    with DocumentServer() as server:
        yield server.port


def _outcomes(names: list[str]) -> dict[str, dict[str, Any]]:
    """Return the program's report on each name, and on an unchanged version."""
    with LoopbackServer() as server, _documents_port() as documents_port:
        ports = [str(server.grpc_port), str(server.http_port), str(documents_port)]

        def run(share: list[str]) -> str:
            finished: subprocess.CompletedProcess[str] = subprocess.run(
                [sys.executable, "-m", "tests.versions.program", *ports, *share],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
                **clean_environment(),
            )
            return finished.stdout

        # A process imports the packages below the clients once if none of its names is in them.
        in_api = names_in(API_PACKAGES)
        below = [name for name in names if name in in_api]
        above = [name for name in names if name not in in_api]
        shares = (below, [_UNCHANGED, *above[::2]], above[1::2])
        with ThreadPoolExecutor(2) as threads:
            said = threads.map(run, filter(None, shares))
            lines = "".join(said).splitlines()
    return {one["name"]: one for one in map(json.loads, lines)}


@pytest.mark.slow
def test_every_name() -> None:
    names = _names()
    outcomes = _outcomes(names)
    assert outcomes.keys() == {_UNCHANGED, *names}
    unchanged = outcomes[_UNCHANGED]
    assert unchanged["warnings"] == []
    assert "datastore" in unchanged["patched"]
    for name, said in outcomes.items():
        assert "raised" not in said, (name, said["raised"])
        assert said["results"] == said["stock"], (name, said["traceback"])
        # One for each client that is lost, with those that are built on it.
        lost = {*unchanged["patched"]} - {*said["patched"]}
        lowest = [one for one in lost if not any(c.name in lost for c in CLIENTS[one].underneath)]
        assert len(said["warnings"]) <= max(1, len(lowest)), name
        assert said["warnings"] or said["patched"] == unchanged["patched"], name
        for client, (kind, calls) in _KINDS.items():
            outcomes_of_stock = [
                one for call, one in said["stock"].items() if call.startswith(calls)
            ]
            # google-cloud-core can have the name, too: then all calls of the changed client fail.
            is_usable = any(one[:1] != ["raised"] for one in outcomes_of_stock)
            is_seen = is_usable and client in said["patched"]
            assert (kind in said["kinds"]) == is_seen, name


def test_the_names_are_found() -> None:
    """Names of modules, classes, functions, and instances."""
    expected = {"_datastore_api", "_set_protobuf_value", "_mutations"}
    assert expected | ({"_LookupBatch"} if HAS_NDB else set()) <= {*_names()}
