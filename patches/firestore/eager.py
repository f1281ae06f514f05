"""RPCs with a mode: their responses give lazy or stock snapshots, whenever they are read."""

from __future__ import annotations

import inspect
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

    async def __aiter__(self) -> Any:
        async for response in self.__wrapped__:
            yield _marked(response, self._self_is_eager)


def _marking(stream: Any, is_eager: bool) -> Any:
    return (
        _awaited(stream, is_eager)
        if inspect.isawaitable(stream)
        else _MarkingStream(stream, is_eager)
    )


async def _awaited(stream: Any, is_eager: bool) -> Any:
    return _MarkingStream(await stream, is_eager)


class ApiInMode(_MarkingProxy):
    """The API object of a client of either kind, for one RPC."""

    def batch_get_documents(self, *args: Any, **kwargs: Any) -> Any:
        stream = self.__wrapped__.batch_get_documents(*args, **kwargs)
        return _marking(stream, self._self_is_eager)

    def run_query(self, *args: Any, **kwargs: Any) -> Any:
        return _marking(self.__wrapped__.run_query(*args, **kwargs), self._self_is_eager)
