"""Processes as :mod:`tests.support.subprocesses` starts them, for a fraction of the time.

They are forked from a process that imported what the clients require, as :mod:`fork_server` says.
Import-order tests that need nothing of that imported start an interpreter.
"""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.support.subprocesses import clean_environment, last_line, options


class _Server:
    """A running fork server."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, *options("default"), "-m", "tests.support.fork_server"],
            **clean_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._stop)

    def run(
        self, arguments: tuple[str, ...], warnings: str, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        with tempfile.TemporaryDirectory() as folder:
            output, errors = Path(folder, "output"), Path(folder, "errors")
            output.touch()
            errors.touch()
            request = {
                "arguments": arguments,
                "warnings": warnings,
                "environment": clean_environment(**environment)["env"],
                "output": str(output),
                "errors": str(errors),
            }
            status = self._ask(request)
            return subprocess.CompletedProcess(
                arguments, status, output.read_text(), errors.read_text()
            )

    def _ask(self, request: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._asking:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def _stop(self) -> None:
        self._process.communicate()


@functools.cache
def _server() -> _Server:
    return _Server()


def run(
    *arguments: str, warnings: str = "default", **environment: str
) -> subprocess.CompletedProcess[str]:
    """As that of :mod:`tests.support.subprocesses`; the first argument is ``-c`` or ``-m``."""
    return _server().run(arguments, warnings, environment)


def answer(*arguments: str, warnings: str = "default", **environment: str) -> Any:
    """As that of :mod:`tests.support.subprocesses`; the first argument is ``-c`` or ``-m``."""
    return last_line(run(*arguments, warnings=warnings, **environment))
