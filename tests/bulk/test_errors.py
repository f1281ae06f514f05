"""The errors of bulk calls: which requests are sent again, and what of an error can be pickled."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc
import pytest
import requests
from google.api_core.exceptions import Forbidden, GoogleAPICallError, RetryError
from google.cloud import datastore

from lazyentity.bulk import BulkError, delete_many, get_many, put_many
from tests.bulk.services import FAST, GIVES_UP, Call, RecordingService, Served, connected, stored
from tests.support import hostile

pytestmark = pytest.mark.any_backend

Client = datastore.Client

_KIND = "Item"


@pytest.mark.parametrize("is_final", [False, True])
def test_an_error_is_pickled(
    any_client: Client, service: RecordingService, *, is_final: bool
) -> None:
    """With the class and the text of each error, and once for all keys of a request."""
    keys = stored(any_client, _KIND, 3)
    code = grpc.StatusCode.INVALID_ARGUMENT if is_final else grpc.StatusCode.UNAVAILABLE
    service.refuse(code, 10_000, "Lookup")
    with pytest.raises(BulkError) as raised:
        get_many(any_client, keys, retry=GIVES_UP)
    error = raised.value
    for made in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert str(made) == str(error)
        assert (made.done, made.count) == (error.done, error.count)
        assert list(made.failed) == keys
        assert len(set(map(id, made.failed.values()))) == 1
        for one, original in zip(made.failed.values(), error.failed.values(), strict=True):
            assert type(one) is type(original)
            assert str(one) == str(original)
            assert getattr(one, "code", None) == getattr(original, "code", None)
    assert copy.copy(error).failed == error.failed


class _Odd(Exception):
    """An error that cannot be pickled."""

    def __init__(self, lock: Any) -> None:
        super().__init__("odd")
        self.lock = lock


@pytest.mark.parametrize(
    "cause", [_Odd(threading.Lock()), Forbidden("no", details=[threading.Lock()])]
)
def test_errors_that_cannot_be_pickled(cause: Exception) -> None:
    """Their class and text are."""
    key = datastore.Key(_KIND, 1, project="p")
    text = f"{type(cause).__name__}: {cause}"
    made = pickle.loads(pickle.dumps(BulkError({key: cause}, {}, 0)))
    assert repr(made.failed[key]) == repr(RuntimeError(text))
    retried: Any = RetryError("for long", cause)
    made = pickle.loads(pickle.dumps(BulkError({key: retried}, {}, 0)))
    assert type(made.failed[key]) is RetryError
    assert repr(made.failed[key].cause) == repr(RuntimeError(text))


@pytest.mark.parametrize("code", [grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.INTERNAL])
def test_other_refusals(
    any_client: Client, service: RecordingService, code: grpc.StatusCode
) -> None:
    """They are not sent again."""
    keys = stored(any_client, _KIND, 1)
    service.forget()
    service.refuse(code, 1, "Lookup")
    with pytest.raises(BulkError) as raised:
        get_many(any_client, keys, retry=FAST)
    assert isinstance(raised.value.failed[keys[0]], GoogleAPICallError)
    assert service.sizes("Lookup") == [1]


def test_timeouts_are_retried(any_client: Client, service: RecordingService) -> None:
    keys = stored(any_client, _KIND, 2)
    may_go = threading.Event()
    seen: set[str] = set()

    def hold_the_first(call: Call) -> None:
        if call.method not in seen:
            seen.add(call.method)
            may_go.wait(20)

    service.before = hold_the_first
    entities: list[Any] = get_many(any_client, keys, retry=FAST, timeout=0.3)
    assert [entity["number"] for entity in entities] == [0, 1]
    put_many(any_client, [datastore.Entity(keys[0])], retry=FAST, timeout=0.3)
    may_go.set()
    assert seen == {"Lookup", "Commit"}


@contextmanager
def _cutting(port: int, requests_cut: list[str]) -> Iterator[int]:
    """Run a proxy of a service that ends the connection within the first response."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Requests are not logged."""

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            response = requests.post(
                f"http://127.0.0.1:{port}{self.path}",
                data=body,
                headers={"Content-Type": self.headers["Content-Type"]},
                timeout=20,
            )
            self.send_response(response.status_code)
            self.send_header("Content-Type", response.headers["Content-Type"])
            self.send_header("Content-Length", str(len(response.content)))
            self.end_headers()
            is_cut = not requests_cut
            self.wfile.write(response.content[: 10 if is_cut else None])
            if is_cut:
                requests_cut.append(self.path)
                self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


def test_cut_connections_are_retried(running: Served, client: Client) -> None:
    """Over HTTP; over gRPC they are the unavailability of the service."""
    keys = stored(client, _KIND, 2)
    cut: list[str] = []
    with _cutting(running.ports["http"], cut) as port:
        proxied = running._replace(ports={"http": port})
        with connected(proxied, "http") as made:
            entities: list[Any] = get_many(made, keys, retry=FAST)
    assert [entity["number"] for entity in entities] == [0, 1]
    assert len(cut) == 1


class _Key(datastore.Key):
    """A key without a text."""

    __repr__ = hostile.Unprintable.__repr__


@pytest.mark.parametrize("sort", hostile.ERRORS)
def test_a_key_and_an_error_without_a_text(sort: str) -> None:
    """They are in the error, and can be pickled with it."""
    make: Any = _Key
    key = make("Item", 1, project="p")
    error = BulkError({key: hostile.ERRORS[sort]()}, {}, 5)
    assert str(error).startswith("1 keys failed and 5 succeeded; the first to fail was <tests.")
    assert type(error.failed[key]).__name__ in str(error)
    made = pickle.loads(pickle.dumps(error))
    assert (list(made.failed), made.count) == ([key], 5)
    assert type(made.failed[key]) in (type(error.failed[key]), RuntimeError)


def test_refused_keys_without_a_text(any_client: Client) -> None:
    """The error says what is wrong with the key."""
    make: Any = _Key
    for call in (get_many, delete_many):
        with pytest.raises(ValueError, match="has neither an id nor a name"):
            call(any_client, [make("Item", project=any_client.project)])
        with pytest.raises(ValueError, match=r"is (not )?of the "):
            call(any_client, [make("Item", 1, project="another")])
    large = datastore.Entity(make("Item", 1, project=any_client.project), ("text",))
    large["text"] = "x" * 1_100_000
    with pytest.raises(BulkError, match=r"1048572"):
        put_many(any_client, [large])
