"""The profile that the environment variable ``LAZYENTITY_PROFILE`` asks for, reported at exit."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib.util
import multiprocessing.util
import os
import signal
import sys
import traceback
import warnings
from pathlib import Path
from types import FrameType, TracebackType

from lazyentity._environment import PROFILE, PROFILE_PROCESS
from lazyentity.profiling.collection import Profile

_ON = frozenset(("1", "true", "yes", "on"))
_SUFFIXES = (".json", ".html")
_MASK_SIZE = 128
"""Of a set of signals in C, in bytes; some systems have a smaller one."""
_OUTERMOST = ("__main__", "runpy")
"""The modules whose code Python itself calls to run a program."""

_ending: _Ending | None = None


def begin() -> None:
    """Begin to count, and report when the interpreter exits.

    The value of the variable is ``1`` for tables on the standard error output, or the path of a
    file whose name ends in ``.json`` or ``.html``. A child process, forked or started, has the
    variable, too: it writes its own file with its process id in the name.

    A process also reports in two cases that skip functions registered with ``atexit``: at
    ``SIGTERM``, unless the program handles it, and at the end of a child that ``multiprocessing``
    forked.
    """
    path = _path(os.environ[PROFILE].strip())
    os.environ.setdefault(PROFILE_PROCESS, str(os.getpid()))
    global _ending
    _ending = ending = _Ending(Profile().start(), path)
    atexit.register(ending.report)
    multiprocessing.util.register_after_fork(ending, _Ending.report_with_multiprocessing)
    try:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, ending.terminate)
            _keep_signals_of_children()
    except ValueError:
        # Only the main thread may set a handler; the signal ends the process as ever.
        pass


def _keep_signals_of_children() -> None:
    """Let SIGTERM wait while this process forks: Python would forget it in the child."""
    if hasattr(os, "register_at_fork"):
        # C functions that look for no signal: an exception of a handler, such as KeyboardInterrupt,
        # would be lost in a function of Python, and in that of the module signal.
        c = ctypes.PyDLL(None)
        held, before = (ctypes.create_string_buffer(_MASK_SIZE) for _ in range(2))
        c.sigemptyset(held)
        c.sigaddset(held, signal.SIGTERM)
        c.pthread_sigmask(signal.SIG_BLOCK, None, before)
        hold = functools.partial(c.pthread_sigmask, signal.SIG_BLOCK, held, before)
        release = functools.partial(c.pthread_sigmask, signal.SIG_SETMASK, before, None)
        os.register_at_fork(before=hold, after_in_parent=release, after_in_child=release)


def cancel() -> None:
    """Report nothing of this process, as it runs no program of the user."""
    if _ending is not None:
        _ending.cancel()
        # A program that this process starts is the first one of the profile.
        os.environ.pop(PROFILE_PROCESS, None)


class _Ending:
    """The report of a process, made once in each process.

    Args:
        profile: the profile to report.
        path: of the file; None for the standard error output.
    """

    def __init__(self, profile: Profile, path: Path | None) -> None:
        self._profile = profile
        self._path = path
        self._reported_by = 0
        self._is_reporting = False
        self._signal: int | None = None

    def cancel(self) -> None:
        """Treat this process as if it had reported."""
        self._reported_by = os.getpid()

    def report(self) -> None:
        """Report, unless this process has reported."""
        if self._reported_by == os.getpid():
            return
        self.cancel()
        self._is_reporting = True
        try:
            _report(self._profile, self._path)
        finally:
            self._is_reporting = False
            if self._signal is not None:
                _end_by(self._signal)
            # Python ends an interrupted process by SIGINT, but forgets that when it runs a text, as
            # modules with dataclasses do.
            if _was_interrupted():
                with contextlib.suppress(KeyboardInterrupt):
                    exec("raise KeyboardInterrupt")  # noqa: S102  # a text of ours

    def report_with_multiprocessing(self) -> None:
        """Report when a child of ``multiprocessing`` has run its finalizers, the last of them."""
        multiprocessing.util.Finalize(None, self.report, exitpriority=-sys.maxsize)

    def terminate(self, number: int, _frame: FrameType | None) -> None:
        """Report, then end by the signal, as without a profile."""
        if self._is_reporting:
            # A pool may terminate a child that is about to end.
            self._signal = number
            return
        try:
            self.report()
        except Exception:  # noqa: BLE001  # whatever it is, the process has to end
            traceback.print_exc()
        finally:
            _end_by(number)


def _was_interrupted() -> bool:
    """Say whether KeyboardInterrupt ended the program."""
    if getattr(sys, "last_type", None) is not KeyboardInterrupt or hasattr(sys, "ps1"):
        # At a prompt, the interrupt has ended nothing.
        return False
    # Nor did one that a library caught and noted, as tkinter does.
    caught: TracebackType | None = getattr(sys, "last_traceback", None)
    return caught is not None and caught.tb_frame.f_globals.get("__name__") in _OUTERMOST


def _end_by(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _path(value: str) -> Path | None:
    """Return the path of the file; None for the standard error output."""
    if value.lower() in _ON:
        if importlib.util.find_spec("rich") is None:
            _warn("tables need rich (pip install 'lazyentity[profile]'); the report will be JSON")
        return None
    path = Path(value).absolute()
    if path.suffix not in _SUFFIXES:
        _warn(
            f"{PROFILE}={value!r} is neither 1 nor a path that ends in .json or .html; "
            "the report goes to the standard error output"
        )
        return None
    if not path.parent.is_dir():
        _warn(f"there is no folder {path.parent}; make it before the program ends")
    return path


def _warn(message: str) -> None:
    warnings.warn(f"lazyentity: {message}", RuntimeWarning, stacklevel=2)


def _report(profile: Profile, path: Path | None) -> None:
    is_first = os.environ.get(PROFILE_PROCESS) == str(os.getpid())
    if not is_first and not profile.report().kinds:
        # Children that have nothing to do with Datastore are many.
        return
    if path is not None:
        if not is_first:
            path = path.with_name(f"{path.stem}.{os.getpid()}{path.suffix}")
        contents = profile.html() if path.suffix == ".html" else profile.json()
        try:
            # Names of sources need not be text.
            path.write_text(contents, encoding="utf-8", errors="backslashreplace")
            return
        except OSError as error:
            sys.stderr.write(f"lazyentity: the profile cannot be written: {error}\n")
    try:
        sys.stderr.write(profile.table())
    except ImportError:
        sys.stderr.write(profile.json())
