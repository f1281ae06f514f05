"""In place of the package pytest-asyncio, of which the client's system tests use one function."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest


def fixture(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a fixture of a coroutine function, or of an asynchronous generator.

    It runs on the event loop of the tests.

    Args:
        function: to make it of; None for a decorator.
        options: of the fixture.
    """
    if function is None:
        return functools.partial(fixture, **options)
    is_generator = inspect.isasyncgenfunction(function)

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Iterator[Any]:
        run = asyncio.get_event_loop().run_until_complete
        started = function(*args, **kwargs)
        yield run(anext(started) if is_generator else started)
        if is_generator:
            with pytest.raises(StopAsyncIteration):
                run(anext(started))

    return pytest.fixture(made, **options)
