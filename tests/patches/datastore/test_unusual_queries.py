"""Queries and look-ups with values that equal others, are no numbers, or are nested deeply."""

from __future__ import annotations

import enum
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from google.cloud import datastore
from google.cloud.datastore import helpers
from google.cloud.datastore.query import And, PropertyFilter
from google.cloud.datastore_v1.types import datastore as datastore_pb2

import lazyentity
from tests.bulk.services import Served, connected
from tests.patches.datastore.activations import LAZILY, Activate
from tests.patches.datastore.read_cases import AT_ONCE, COUNT, KIND, get
from tests.patches.datastore.recording import Recording
from tests.support import clients
from tests.support.forks import answer

Client = datastore.Client

pytestmark = pytest.mark.any_backend


class _Text(str, enum.Enum):
    """Formats as its name."""

    PROJECT = clients.PROJECT
    DATABASE = "named"


class _Folded(str):
    """Equals its other spellings."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and self.lower() == other.lower()

    def __hash__(self) -> int:
        return hash(self.lower())


class _Index:
    """As a number of numpy: subtracts, and is no int."""

    def __sub__(self, other: int) -> _Index:
        return self

    def __index__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "1"


def _nested(depth: int) -> Any:
    value: Any = PropertyFilter("number", ">", 0)
    for _ in range(depth):
        value = And([value])
    return value


@pytest.fixture(params=LAZILY)
def activate(request: pytest.FixtureRequest) -> Iterator[Activate]:
    """Give a way to lazy reads."""
    yield request.param
    lazyentity.unpatch()


def _fetched(client: Client, query: dict[str, Any], options: dict[str, Any]) -> Any:
    try:
        return len(list(client.query(kind=KIND, **query).fetch(**options)))
    except Exception as error:  # noqa: BLE001  # compared with the stock client's
        return type(error), str(error)


def _read(query: dict[str, Any], options: dict[str, Any]) -> Callable[[Client], Any]:
    return lambda client: _fetched(client, query, options)


READS: dict[str, Callable[[Client], Any]] = {
    "query": _read({}, {}),
    "get": get,
    "namespaces": lambda client: [
        _fetched(client, {"namespace": _Folded(name)}, {}) for name in ("Alpha", "ALPHA")
    ],
    "limit": _read({}, {"limit": _Index()}),
    **{f"offset {offset!s}": _read({}, {"offset": offset}) for offset in ("", 0.0, False)},
    **{f"depth {depth}": _read({"filters": [_nested(depth)]}, {}) for depth in (1, 40, 60)},
    "a tuple of filters": _read({"filters": [And((_nested(0),))]}, {}),
}


def _sent(running: Served, options: dict[str, Any], activate: Activate, read: Any) -> Any:
    with connected(running, **options) as client:
        recording = Recording(running, client)
        outcome = read(activate(client))
        return outcome, recording.sent, [kind.__name__ for kind in recording.kinds]


@pytest.mark.parametrize(
    "options",
    [{}, {"project": _Text.PROJECT}, {"database": _Text.DATABASE}],
    ids=["usual", "project", "database"],
)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_as_stock(
    running: Served, activate: Activate, options: dict[str, Any], read: Callable[[Client], Any]
) -> None:
    """The same is sent, with the same headers, by a request of the same name."""
    expected = _sent(running, options, lambda client: client, read)
    assert _sent(running, options, activate, read) == expected


def test_a_replaced_helper_is_called(
    running: Served, activate: Activate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of a read are those of a function that an application put in."""
    original: Any = helpers.get_read_options

    def eventual(_: Any, *args: Any, **kwargs: Any) -> Any:
        return original(True, *args, **kwargs)

    monkeypatch.setattr(helpers, "get_read_options", eventual)
    _, sent, _ = _sent(running, {}, activate, READS["query"])
    asked = {call[-1].read_options.read_consistency for call in sent}
    assert asked == {datastore_pb2.ReadOptions.ReadConsistency.EVENTUAL}


def test_a_page_is_iterated_without_python_code(running: Served, activate: Activate) -> None:
    """A generator would end with the first exception of a signal handler, and the page with it."""
    with connected(running) as client:
        page = next(activate(client).query(kind=KIND).fetch().pages)
        found, calls = iter(page), []
        sys.setprofile(lambda frame, event, _: calls.append((frame.f_code.co_filename, event)))
        try:
            number = sum(1 for _ in found)
        finally:
            sys.setprofile(None)
        assert number == AT_ONCE
        assert not [file for file, event in calls if event == "call" and "pages" in file]


_PROGRAM = """
import json
import sys

from google.cloud.datastore import _http
from google.cloud.datastore_v1.services.datastore.client import DatastoreClient

import lazyentity
from tests.support.clients import make_client

seen = []

def wrapping(original):
    def wrapped(self, request=None, **kwargs):
        seen.append(request["project_id"])
        return original(self, request=request, **kwargs)

    return wrapped

for kind in (DatastoreClient, _http.HTTPDatastoreAPI):
    for name in ("lookup", "run_query"):
        setattr(kind, name, wrapping(getattr(kind, name)))
lazyentity.patch("datastore")
client = make_client(int(sys.argv[1]), sys.argv[2])
found = list(client.query(kind=sys.argv[3]).fetch())
print(json.dumps([len(found), client.get(found[0].key)["number"], seen]))
"""


@pytest.mark.parametrize("transport", ["grpc", "http"])
def test_methods_that_were_wrapped_before_the_patch(running: Served, transport: str) -> None:
    """They get the requests that the client makes."""
    found = answer("-c", _PROGRAM, str(running.ports[transport]), transport, KIND)
    assert found == [COUNT, 1, [clients.PROJECT] * 3]
