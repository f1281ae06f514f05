"""A pytest plugin that runs tests that are coroutines, as the client's tests of asyncio are."""

from __future__ import annotations

import asyncio
import inspect

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Add the marker of pytest-asyncio, and the event loop that some tests expect to be there."""
    config.addinivalue_line("markers", "asyncio: is a coroutine")
    asyncio.set_event_loop(asyncio.new_event_loop())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine with its fixtures."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    fixtures = {
        name: pyfuncitem.funcargs[name]
        for name in inspect.signature(pyfuncitem.obj).parameters
        if name in pyfuncitem.funcargs
    }
    asyncio.get_event_loop().run_until_complete(pyfuncitem.obj(**fixtures))
    return True
