"""RPCs sent inside ``eager()``: their responses give stock snapshots, whenever they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wrapt

from lazyentity.patches.firestore.responses import RESPONSES


def _marked(response: Any) -> Any:
    if type(response) in RESPONSES:
        response._is_eager = True
    return response


class _EagerStream(wrapt.ObjectProxy[Any]):
    """A stream of responses, of either kind of client."""

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return _marked(next(self.__wrapped__))

    def __aiter__(self) -> Any:
        return _marked_each(self.__wrapped__)


async def _marked_each(stream: Any) -> Any:
    async for response in stream:
        yield _marked(response)


class _EagerApi(wrapt.ObjectProxy[Any]):
    """The API object of a blocking client, for one RPC."""

    def batch_get_documents(self, *args: Any, **kwargs: Any) -> Any:
        return _EagerStream(self.__wrapped__.batch_get_documents(*args, **kwargs))

    def run_query(self, *args: Any, **kwargs: Any) -> Any:
        return _EagerStream(self.__wrapped__.run_query(*args, **kwargs))


class _EagerAsyncApi(wrapt.ObjectProxy[Any]):
    """The API object of an asyncio client, for one RPC."""

    async def batch_get_documents(self, *args: Any, **kwargs: Any) -> Any:
        return _EagerStream(await self.__wrapped__.batch_get_documents(*args, **kwargs))

    async def run_query(self, *args: Any, **kwargs: Any) -> Any:
        return _EagerStream(await self.__wrapped__.run_query(*args, **kwargs))


eager_api: Callable[[Any], Any] = _EagerApi
eager_async_api: Callable[[Any], Any] = _EagerAsyncApi
