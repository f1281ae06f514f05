"""get_many(): an iterator in a process that was forked while it was read."""

from __future__ import annotations

import os

import pytest

from tests.support.forks import answer

pytestmark = pytest.mark.any_backend

_FORK = """
import os, signal
from lazyentity.bulk import windows

window = windows.Window({concurrency})
window.submit(lambda: 1)
window.submit(lambda: 2)
assert window.take() == 1
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        os._exit(window.take())
    except RuntimeError as error:
        os._exit(7 if "call get_many() again" in str(error) else 8)
_, status = os.waitpid(child, 0)
assert window.take() == 2
print(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(("concurrency", "expected"), [(2, 7), (1, 2)])
def test_calls_of_the_parent(concurrency: int, expected: int) -> None:
    """A child process has none of the threads, and says so; without threads it goes on."""
    assert answer("-c", _FORK.format(concurrency=concurrency)) == expected
