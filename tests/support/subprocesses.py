"""Fresh interpreters, which alone show the effects and the order of imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[2]
# The backend is not among them: the subprocesses use the backend of the tests.
_CLEARED = (
    "DATASTORE_EMULATOR_HOST",
    "LAZYENTITY_ADAPTERS",
    "LAZYENTITY_DISABLE",
    "LAZYENTITY_EAGER",
    "PYTHONWARNINGS",
)

# google.api_core announces at import which Python versions it will stop supporting.
_IGNORED = "ignore:You are using a:FutureWarning"


def clean_environment(**environment: str) -> dict[str, Any]:
    """Return where a subprocess runs, and its environment variables, as arguments for it."""
    inherited = {name: value for name, value in os.environ.items() if name not in _CLEARED}
    return {"cwd": _ROOT, "env": {**inherited, **environment}}


def options(warnings: str) -> list[str]:
    """Return the interpreter's options for a filter for warnings."""
    return ["-W", warnings, "-W", _IGNORED]


def run(
    *arguments: str, warnings: str = "default", folder: Path | str = _ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run this interpreter; it may fail.

    Args:
        arguments: the interpreter's arguments.
        warnings: the interpreter's filter for warnings.
        folder: the current one of the process.
        environment: further environment variables.
    """
    command = [*options(warnings), *arguments]
    return run_for(120, *command, **{**clean_environment(**environment), "cwd": folder})


def run_for(
    seconds: float | None, *arguments: str, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run this interpreter for some time, or for any, with options of :func:`subprocess.run`."""
    return subprocess.run(
        [sys.executable, *arguments],
        **{"cwd": _ROOT, **options},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds,
    )


def answer(*arguments: str, warnings: str = "default", **environment: str) -> Any:
    """As :func:`run`, but it must not fail. Returns the JSON that it printed last."""
    return last_line(run(*arguments, warnings=warnings, **environment))


def last_line(finished: subprocess.CompletedProcess[str]) -> Any:
    """Return the JSON that a process printed last; it must not have failed."""
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout.splitlines()[-1])
