"""Both kinds of client behind the same calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from google.cloud import firestore


class Blocking:
    """A ``Client``."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def one(self, call: Callable[[], Any]) -> Any:
        """Return the result of a method that reads or writes once."""
        return call()

    def next(self, stream: Any) -> Any:
        """Return the next item of a stream."""
        return next(stream)

    def all(self, call: Callable[[], Any], act: Callable[[], object] = bool) -> list[Any]:
        """Return everything that a method streams; ``act`` is called after each item."""
        found = []
        for each in call():
            found.append(each)
            act()
        return found

    def in_transaction(self, work: Callable[[Any], Any]) -> Any:
        """Run ``work``, a function of a transaction that returns results to collect."""

        @firestore.transactional
        def run(transaction: Any) -> Any:
            return [list(each) for each in work(transaction)]

        return run(self.client.transaction())

    def close(self) -> None:
        if self.client._firestore_api_internal is not None:
            self.client._firestore_api_internal.transport.close()


class Asyncio(Blocking):
    """An ``AsyncClient``; its event loop runs during calls only."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self._loop = asyncio.new_event_loop()

    def _run(self, coroutine: Any) -> Any:
        return self._loop.run_until_complete(asyncio.wait_for(coroutine, 60))

    def one(self, call: Callable[[], Any]) -> Any:
        async def awaited() -> Any:
            return await call()

        return self._run(awaited())

    def next(self, stream: Any) -> Any:
        return self._run(anext(stream))

    def all(self, call: Callable[[], Any], act: Callable[[], object] = bool) -> list[Any]:
        return self._run(_collected(call, act))  # type: ignore[no-any-return]  # a list

    def in_transaction(self, work: Callable[[Any], Any]) -> Any:
        @firestore.async_transactional
        async def run(transaction: Any) -> Any:
            return [await _collected(lambda: each) for each in work(transaction)]  # noqa: B023

        return self.one(lambda: run(self.client.transaction()))

    def close(self) -> None:
        if self.client._firestore_api_internal is not None:
            self._run(self.client._firestore_api_internal.transport.close())
        self._loop.close()


async def _collected(call: Callable[[], Any], act: Callable[[], object] = bool) -> list[Any]:
    stream = call()
    if asyncio.iscoroutine(stream):
        stream = await stream
    if not hasattr(stream, "__aiter__"):
        return list(stream)
    found = []
    async for each in stream:
        found.append(each)
        act()
    return found


SIDES = {firestore.Client: Blocking, firestore.AsyncClient: Asyncio}
