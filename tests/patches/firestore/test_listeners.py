"""Listeners get the events of the stock client, with fields that are decoded natively."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import pytest
from google.cloud.firestore_v1 import watch
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.cloud.firestore_v1.types import firestore as types

import lazyentity
from lazyentity.patches.firestore import listeners
from tests.patches.firestore.describing import described
from tests.patches.firestore.reading import WHEN
from tests.patches.firestore.server import DocumentServer

SECONDS = 60


def _events(client: Any, server: DocumentServer, of: Callable[[Any], Any]) -> Any:
    """Listen while documents change; return everything told of each event."""
    server.clear()
    for number in range(4):
        server.put(f"things/{number}", {"number": number, "when": WHEN, "map": {"a": [number]}})
    events: queue.Queue[Any] = queue.Queue()

    def called(documents: Any, changes: Any, read_time: Any) -> None:
        told = [(change.type.name, change.old_index, change.new_index) for change in changes]
        events.put((told, [described(document)[1][3:] for document in documents]))

    listener = of(client).on_snapshot(called)
    found = [events.get(timeout=SECONDS)]
    things = client.collection("things")
    changes: list[Callable[[], Any]] = [
        lambda: things.document("1").set({"number": 7, "more": [{"b": None}]}),
        lambda: things.document("1").update({"number": -1}),
        lambda: things.document("1").delete(),
    ]
    for change in changes:
        change()
        found.append(events.get(timeout=SECONDS))
    listener.unsubscribe()
    return found


LISTEN: dict[str, Callable[[Any], Any]] = {
    "a document": lambda client: client.document("things/1"),
    "a query": lambda client: client.collection("things").order_by("number"),
    "a collection": lambda client: client.collection("things"),
}


@pytest.mark.parametrize("of", LISTEN.values(), ids=LISTEN)
def test_same_events(
    of: Callable[[Any], Any], client: Any, server: DocumentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first load, a change, a change of the order and a removal."""
    stock = _events(client, server, of)
    seen = []
    decode = listeners._decoded

    def decoded(*args: Any) -> Any:
        seen.append(decode(*args))
        return seen[-1]

    monkeypatch.setattr(listeners, "_decoded", decoded)
    lazyentity.patch("firestore", strict=True)
    assert _events(client, server, of) == stock
    assert seen
    assert all(type(each) is dict for each in seen)


class _Listener(watch.Watch):
    """A listener without a stream."""

    def _init_stream(self) -> None:
        pass


def _changes(client: Any, event: Any) -> Any:
    """Give an event to a listener; return its changes, or the error."""
    listener = _Listener.for_document(client.document("things/1"), print, DocumentSnapshot)  # type: ignore[no-untyped-call]  # upstream is untyped
    try:
        listener.on_snapshot(event)
    except Exception as error:  # noqa: BLE001  # it is compared
        return type(error), str(error)
    return {name: described(each) for name, each in listener.change_map.items()}


def _event(**changes: Any) -> Any:
    document: dict[str, Any] = {
        "name": "projects/p/databases/(default)/documents/things/1",
        "fields": {"a": {"integer_value": 1}},
        "update_time": WHEN,
    }
    target_ids = changes.pop("target_ids", [watch.WATCH_TARGET_ID])
    removed = changes.pop("removed_target_ids", [])
    return types.ListenResponse(
        document_change={
            "document": {**document, **changes},
            "target_ids": target_ids,
            "removed_target_ids": removed,
        }
    )


@pytest.mark.parametrize(
    "event",
    [
        _event(),
        _event(create_time=WHEN),
        _event(target_ids=[7]),
        _event(target_ids=[], removed_target_ids=[watch.WATCH_TARGET_ID]),
        _event(fields={"bad": {}}),
        _event(fields={"bad": {"reference_value": "projects/q/databases/d/documents/a/b"}}),
        _event(fields={"__type__": {"string_value": "__vector__"}}),
        _event(name=""),
        types.ListenResponse(document_delete={"document": "gone"}),
    ],
)
def test_single_events(event: Any, client: Any) -> None:
    """Removals, errors, documents for other targets: all as in stock."""
    sent = types.ListenResponse.serialize(event)
    stock = _changes(client, event)
    lazyentity.patch("firestore", strict=True)
    assert _changes(client, event) == stock
    assert types.ListenResponse.serialize(event) == sent
