"""When patch() does something: imports, the kill switch, and the backend that is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from lazyentity import _environment
from tests.support.forks import answer, run

_STATE = """
import json, logging, sys, warnings

def nothing_is_replaced():
    from google.cloud.datastore import client, helpers
    return (
        helpers.entity_from_protobuf.__code__.co_filename == helpers.__file__
        and client.Client._datastore_api.fget.__code__.co_filename == client.__file__
    )

def say(**state):
    state["stock"] = nothing_is_replaced()
    # Other clients, which may be installed, have separate tests.
    state["patched"] = [name for name in lazyentity.patched() if name == "datastore"]
    print(json.dumps(state))
"""


def ask(body: str, warnings: str = "default", **environment: str) -> Any:
    """Run ``body`` in a fresh interpreter; return the arguments of its ``say()``, and the state.

    ``stock`` of the state is whether the client's own code is in all patched places.
    """
    return answer("-c", _STATE + body, warnings=warnings, **environment)


class TestImporting:
    """Only ``import lazyentity.auto`` does anything but define names."""

    @pytest.mark.parametrize("module", ["lazyentity", "lazyentity.patches"])
    def test_patches_nothing(self, module: str) -> None:
        assert ask(f"import {module}, lazyentity; say()") == {"stock": True, "patched": []}

    def test_auto_patches_once(self) -> None:
        """Importing the module again, already imported, does not undo an unpatch()."""
        state = ask(
            "import lazyentity.auto; lazyentity.unpatch(); import lazyentity.auto as _; say()"
        )
        assert state == {"stock": True, "patched": []}


class TestDisabled:
    """The kill switch LAZYENTITY_DISABLE, for operators of a program that patches."""

    @pytest.mark.parametrize("value", ["1", "true", "yes", "on", "anything"])
    @pytest.mark.parametrize(
        "how", ["import lazyentity.auto", "import lazyentity; lazyentity.patch()"]
    )
    def test_nothing_is_patched_and_the_log_says_so(self, how: str, value: str) -> None:
        finished = run("-c", f"{_STATE}\n{how}\nsay()", warnings="error", LAZYENTITY_DISABLE=value)
        assert finished.returncode == 0, finished.stderr
        assert finished.stdout == '{"stock": true, "patched": []}\n'
        assert "LAZYENTITY_DISABLE" in finished.stderr

    @pytest.mark.parametrize("value", ["0", "false", "False", "no", "off", "", " 0 "])
    def test_values_that_mean_no(self, value: str) -> None:
        finished = run("-c", f"{_STATE}\nimport lazyentity.auto\nsay()", LAZYENTITY_DISABLE=value)
        assert finished.stdout == '{"stock": false, "patched": ["datastore"]}\n'
        assert finished.stderr == ""

    def test_unpatching_works_all_the_same(self) -> None:
        """A patch from before the variable was set in the process can still be undone."""
        state = ask(
            """
import os, lazyentity.auto
os.environ["LAZYENTITY_DISABLE"] = "1"
lazyentity.patch()
still = "datastore" in lazyentity.patched()
lazyentity.unpatch()
say(still=still)
"""
        )
        assert state == {"still": True, "stock": True, "patched": []}


_WITHOUT = """
import sys
sys.modules[{module!r}] = None
import lazyentity
say(backend=lazyentity.backend)
"""

native_modules = pytest.mark.parametrize("module", _environment.NATIVE_MODULES)


class TestBackend:
    """An explicit request for a backend is met, or it is an error with the reason."""

    def test_pure(self) -> None:
        state = ask("import lazyentity; say(backend=lazyentity.backend)", LAZYENTITY_BACKEND="pure")
        assert state["backend"] == "pure"

    @native_modules
    def test_native_that_is_not_there(self, module: str) -> None:
        finished = run("-c", _STATE + _WITHOUT.format(module=module), LAZYENTITY_BACKEND="native")
        assert finished.returncode == 1
        last = finished.stderr.splitlines()[-1]
        assert last.startswith("ImportError: LAZYENTITY_BACKEND=native cannot be met")

    @native_modules
    def test_unset_is_pure_when_native_was_not_built(self, module: str) -> None:
        """Without a request, there is no warning of a missing native backend or part of it."""
        finished = run(
            "-c", _STATE + _WITHOUT.format(module=module), warnings="error", LAZYENTITY_BACKEND=""
        )
        assert '"backend": "pure"' in finished.stdout
        assert finished.stderr == ""

    @pytest.mark.parametrize("value", ["fast", "PURE", "0"])
    def test_others_are_refused(self, value: str) -> None:
        finished = run("-c", "import lazyentity.auto", LAZYENTITY_BACKEND=value)
        assert finished.returncode == 1
        last = finished.stderr.splitlines()[-1]
        assert last.startswith(f"ImportError: LAZYENTITY_BACKEND={value!r} is not a backend")
        assert "'native' and 'pure'" in last
