"""Interpreters that the native backend does not support get the pure one, with one warning."""

from __future__ import annotations

from typing import Any

from lazyentity._environment import NATIVE_MODULES
from tests.support import forks, subprocesses

_STATE = """
import json, sys, warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import lazyentity, lazyentity.search
    from lazyentity import _backend, _environment
    backend = lazyentity.backend
    number = lazyentity.LazyEntity.from_bytes(bytes.fromhex("1a070a01611202102a"))["a"]
    texts = [str(one.message) for one in caught if one.category is RuntimeWarning]
state = {
    "backend": backend,
    "number": number,
    "warnings": [text for text in texts if text.startswith("lazyentity: ")],
    "known": _environment.obstacle()[0],
    "reason": _backend.obstacle[0],
    "native": [name for name in sys.modules if name.startswith("lazyentity.native.")],
}
"""

_SUB_INTERPRETER = f"""
import sys
# As web servers make them that run several applications in one process; others cannot import grpc.
if sys.version_info >= (3, 13):
    import _interpreters as interpreters
    made = interpreters.create("legacy")
else:
    import _xxsubinterpreters as interpreters
    made = interpreters.create(isolated=False)
program = {_STATE!r} + "print(json.dumps(state), flush=True)"
failed = interpreters.run_string(made, program)
assert not failed, failed
"""

_FREE_THREADED = f"""
import sys
sys.version += " free-threading build"
{_STATE}
print(json.dumps(state))
"""


def _expect(state: dict[str, Any], reason: str) -> None:
    (warning,) = state.pop("warnings")
    assert warning.startswith(f"lazyentity: {reason}; to get the native backend, ")
    assert warning.endswith("; the pure backend serves")
    assert state == {
        "backend": "pure",
        "number": 42,
        "known": reason,
        "reason": reason,
        "native": [],
    }


def test_a_sub_interpreter() -> None:
    state = subprocesses.answer("-c", _SUB_INTERPRETER, LAZYENTITY_BACKEND="")
    _expect(state, "the native backend does not support sub-interpreters")


def test_free_threaded_python() -> None:
    state = forks.answer("-c", _FREE_THREADED, LAZYENTITY_BACKEND="")
    _expect(state, "the native backend does not support free-threaded Python")


def test_a_request_is_refused() -> None:
    finished = forks.run("-c", _FREE_THREADED, LAZYENTITY_BACKEND="native")
    assert finished.returncode == 1
    error = finished.stderr.splitlines()[-1]
    assert error.startswith("ImportError: LAZYENTITY_BACKEND=native cannot be met: the native")
    assert "does not support free-threaded Python" in error
    assert "unset the variable" in error


def test_the_reason_where_a_module_is_missing() -> None:
    """As after an installation without a compiler: no warning, for nothing went wrong since."""
    module = NATIVE_MODULES[-1]
    state = forks.answer(
        "-c",
        f"import sys\nsys.modules[{module!r}] = None\n{_STATE}\nprint(json.dumps(state))",
        LAZYENTITY_BACKEND="",
    )
    reason = f"the native backend was not built, there is no module {module}"
    assert (state["backend"], state["warnings"]) == ("pure", [])
    assert state["known"] == state["reason"] == reason
