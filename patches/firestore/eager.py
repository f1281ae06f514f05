"""RPCs with a mode: their responses give lazy or stock snapshots, whenever they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import wrapt

from lazyentity.patches.firestore.responses import RESPONSES


def _marked(response: Any, is_eager: bool) -> Any:
    if type(response) in RESPONSES:
        response._is_eager = is_eager
    return response


class _MarkingProxy(wrapt.ObjectProxy[Any]):
    def __init__(self, wrapped: Any, is_eager: bool) -> None:
        super().__init__(wrapped)
        self._self_is_eager = is_eager


class _MarkingStream(_MarkingProxy):
    """A stream of responses, of either kind of client."""

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return _marked(next(self.__wrapped__), self._self_is_eager)

    def __aiter__(self) -> Any:
        return _marked_each(self.__wrapped__, self._self_is_eager)


async def _marked_each(stream: Any, is_eager: bool) -> Any:
    async for response in stream:
        yield _marked(response, is_eager)


class _MarkingApi(_MarkingProxy):
    """The API object of a blocking client, for one RPC."""

    def batch_get_documents(self, *args: Any, **kwargs: Any) -> Any:
        stream = self.__wrapped__.batch_get_documents(*args, **kwargs)
        return _MarkingStream(stream, self._self_is_eager)

    def run_query(self, *args: Any, **kwargs: Any) -> Any:
        return _MarkingStream(self.__wrapped__.run_query(*args, **kwargs), self._self_is_eager)


class _MarkingAsyncApi(_MarkingProxy):
    """The API object of an asyncio client, for one RPC."""

    async def batch_get_documents(self, *args: Any, **kwargs: Any) -> Any:
        stream = await self.__wrapped__.batch_get_documents(*args, **kwargs)
        return _MarkingStream(stream, self._self_is_eager)

    async def run_query(self, *args: Any, **kwargs: Any) -> Any:
        stream = await self.__wrapped__.run_query(*args, **kwargs)
        return _MarkingStream(stream, self._self_is_eager)


api_in_mode: Callable[[Any, bool], Any] = _MarkingApi
async_api_in_mode: Callable[[Any, bool], Any] = _MarkingAsyncApi
