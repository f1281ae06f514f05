"""The entry points: they handle Ctrl-C before anything that takes time is imported."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator

_current_folder: list[str] = []
"""The entry of ``sys.path`` that ``python -m`` puts first, and that commands do without."""

_INTERRUPTED = 130
"""The exit status of a shell for a command that Ctrl-C ended."""


def module() -> None:
    """Run ``python -m lazyentity``.

    Raises:
        SystemExit: always, with the exit status.
    """
    _put_current_folder_last()
    _exit("python -m lazyentity", "dispatch", "main")


def command() -> None:
    """Run ``lazyentity``.

    Raises:
        SystemExit: always, with the exit status.
    """
    _current_folder[:] = [""]
    _exit("lazyentity", "dispatch", "main")


def bench() -> None:
    """Run ``python -m lazyentity.bench``.

    Raises:
        SystemExit: always, with the exit status.
    """
    _put_current_folder_last()
    _exit("python -m lazyentity bench", "dispatch", "main", ["bench", *sys.argv[1:]])


def script() -> None:
    """Run ``lazyentity-run``.

    Raises:
        SystemExit: always, with the exit status.
    """
    _exit("lazyentity-run", "run", "script")


@contextlib.contextmanager
def importing_application() -> Iterator[None]:
    """Import as ``python -m`` does, from the current folder first."""
    sys.path[:0] = _current_folder
    try:
        yield
    finally:
        del sys.path[: len(_current_folder)]


def _put_current_folder_last() -> None:
    """Import what commands need from where it is installed.

    ``python -m`` looks into the current folder first, and an application there can have modules of
    the same names, such as ``click.py``.
    """
    # With -P or -I, Python does not put it there.
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        _current_folder[:] = [sys.path.pop(0)]
        sys.path += _current_folder


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
