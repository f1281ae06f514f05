"""Patching and unpatching around clients and snapshots that are there already."""

from __future__ import annotations

import asyncio
import multiprocessing
from typing import Any

import pytest
from google.cloud import firestore

import lazyentity
from tests.patches.firestore.conftest import Make
from tests.patches.firestore.describing import is_lazy
from tests.support.concurrency import together

pytestmark = pytest.mark.usefixtures("numbered")


def test_a_client_made_before(side: Any) -> None:
    """It has sent RPCs by then; it is lazy while the client is patched, and stock after."""
    reference = side.client.document("things/01")
    states = []
    for change in ("", "patch", "patch", "unpatch", "patch", "unpatch"):
        if change:
            getattr(lazyentity, change)("firestore")
        states.append(is_lazy(side.one(reference.get)))
    assert states == [False, True, True, False, True, False]
    # This descriptor serves snapshots that live on.
    assert "_data" in vars(firestore.DocumentSnapshot)


def test_a_stream_over_the_end_of_the_patch(side: Any) -> None:
    """Responses that arrived, and those to come, become snapshots."""
    lazyentity.patch("firestore", strict=True)
    things = side.client.collection("things").order_by("number")
    found = side.all(things.stream, lazyentity.unpatch)
    assert [each.to_dict()["number"] for each in found] == list(range(20))


def test_threads_read_one_snapshot(client: Any, frequent_switches: None) -> None:
    """Each gets separate dicts, and all of them the same ``_data``."""
    lazyentity.patch("firestore", strict=True)
    for _ in range(20):
        snapshot = client.document("things/07").get()
        dicts = together(4, lambda _: snapshot.to_dict())  # noqa: B023
        data = together(4, lambda _: snapshot._data)  # noqa: B023
        assert len({id(each) for each in dicts}) == 4
        assert len({id(each) for each in data}) == 1
        assert all(each == data[0] for each in dicts)


def test_threads_read_and_patch(client: Any, frequent_switches: None) -> None:
    """Every read gives all documents, whatever happens to the patch meanwhile."""
    # Of threads that use a client first, each makes a channel, and all but one are closed again.
    assert client.document("things/01").get().exists

    def work(number: int) -> Any:
        if number == 0:
            for _ in range(30):
                lazyentity.patch("firestore", strict=True)
                lazyentity.unpatch()
            return 20
        for _ in range(10):
            found = [each.to_dict()["number"] for each in client.collection("things").stream()]
            assert sorted(found) == list(range(20))
        return len(found)

    assert together(3, work) == [20, 20, 20]


def _child(snapshot: Any, connection: Any) -> None:
    connection.send((is_lazy(snapshot), snapshot.to_dict(), snapshot.get("map.a")))


def test_a_forked_process_reads_on(client: Any) -> None:
    """Nothing of a snapshot belongs to the process, or to the client's connection."""
    lazyentity.patch("firestore", strict=True)
    snapshot = client.document("things/05").get()
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_child, args=(snapshot, there))
    process.start()
    assert here.poll(60)
    assert here.recv() == (True, snapshot.to_dict(), [5, "text"])
    process.join(60)
    assert process.exitcode == 0


def test_a_cancelled_read(make_side: Make) -> None:
    """The task ends as it does with the stock client, and the client reads on."""
    side = make_side(firestore.AsyncClient)
    lazyentity.patch("firestore", strict=True)

    async def cancelled() -> Any:
        things = side.client.collection("things")
        reached = asyncio.Event()

        async def work() -> None:
            async for _ in things.stream():
                reached.set()
                await asyncio.sleep(60)

        task = asyncio.ensure_future(work())
        await reached.wait()
        task.cancel()
        (result,) = await asyncio.gather(task, return_exceptions=True)
        return type(result), [each.id async for each in things.stream()]

    kind, names = side.run(cancelled())
    assert kind is asyncio.CancelledError
    assert len(names) == 20


def test_reads_inside_and_outside_of_eager(side: Any) -> None:
    """The mode is that of the moment at which the RPC is sent."""
    lazyentity.patch("firestore", strict=True)
    things = side.client.collection("things")
    with lazyentity.eager():
        stream = things.stream()
        first = side.next(stream)
    assert not any(map(is_lazy, [first, *side.all(lambda: stream)]))
    assert all(map(is_lazy, side.all(things.stream)))
