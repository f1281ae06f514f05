"""Listeners get the documents and the changes that the stock client gives them."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

import pytest

import lazyentity
from lazyentity.patches.firestore import listeners
from tests.patches.firestore.describing import described
from tests.patches.firestore.reading import WHEN
from tests.patches.firestore.server import DocumentServer

SECONDS, NANOS = 1_704_164_645, 678_901_234


def _events(client: Any, server: DocumentServer, observed: Callable[[Any], Any]) -> Any:
    """Listen while documents change; return everything told of each event."""
    server.clear()
    for number in range(4):
        server.put(f"things/{number}", {"number": number, "when": WHEN, "map": {"a": [number]}})
    events: queue.Queue[Any] = queue.Queue()

    def called(documents: Any, changes: Any, read_time: Any) -> None:
        told = [(change.type.name, change.old_index, change.new_index) for change in changes]
        events.put((told, [described(document)[1][3:] for document in documents]))

    listener = observed(client).on_snapshot(called)
    found = [events.get(timeout=60)]
    things = client.collection("things")
    changes: list[Callable[[], Any]] = [
        lambda: things.document("1").set({"number": 7, "more": [{"b": None}]}),
        lambda: things.document("1").update({"number": -1}),
        lambda: things.document("1").delete(),
    ]
    for change in changes:
        change()
        found.append(events.get(timeout=60))
    listener.unsubscribe()
    return found


LISTEN: dict[str, Callable[[Any], Any]] = {
    "a document": lambda client: client.document("things/1"),
    "a query": lambda client: client.collection("things").order_by("number"),
    "a collection": lambda client: client.collection("things"),
}


@pytest.mark.parametrize("observed", LISTEN.values(), ids=LISTEN)
def test_same_events(
    observed: Callable[[Any], Any],
    client: Any,
    server: DocumentServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first load, a change, a change of the order and a removal."""
    stock = _events(client, server, observed)
    seen = []
    decode = listeners._decoded

    def decoded(*args: Any) -> Any:
        seen.append(decode(*args))
        return seen[-1]

    monkeypatch.setattr(listeners, "_decoded", decoded)
    lazyentity.patch("firestore", strict=True)
    assert _events(client, server, observed) == stock
    assert seen
    assert None not in seen
