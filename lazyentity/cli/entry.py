"""The entry points: they handle Ctrl-C before anything that takes time is imported."""

from __future__ import annotations

import importlib
import sys

_INTERRUPTED = 130
"""The exit status of a shell for a command that Ctrl-C ended."""


def module() -> None:
    """Run ``python -m lazyentity``.

    Raises:
        SystemExit: always, with the exit status.
    """
    _exit("python -m lazyentity", "dispatch", "main")


def bench() -> None:
    """Run ``python -m lazyentity.bench``.

    Raises:
        SystemExit: always, with the exit status.
    """
    _exit("python -m lazyentity bench", "dispatch", "main", ["bench", *sys.argv[1:]])


def script() -> None:
    """Run ``lazyentity-run``.

    Raises:
        SystemExit: always, with the exit status.
    """
    _exit("lazyentity-run", "run", "script")


def _exit(program: str, of: str, function: str, *arguments: list[str]) -> None:
    """Import a module of this package, and exit with the status that its function returns."""
    try:
        status = getattr(importlib.import_module(f"{__package__}.{of}"), function)(*arguments)
    except KeyboardInterrupt:
        # Commands handle Ctrl-C themselves; this one came before or after the command.
        if sys.stderr is not None:
            sys.stderr.write(f"{program}: interrupted\n")
        status = _INTERRUPTED
    sys.exit(status)
