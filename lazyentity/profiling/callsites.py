"""The line of the application that is running, found from inside of a call to a library."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Final, NamedTuple

from lazyentity.codec.describing import module_of
from lazyentity.profiling import CLIENT_PACKAGES

_MAX_FRAMES = 200


class CallSite(NamedTuple):
    """A line of code.

    Attributes:
        file: its path; empty, if there is none.
        line: its number, from 1.
        function: the function that it is in.
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.function


NOWHERE: Final = CallSite("", 0, "(no Python code)")

_INTERACTIVE = ("<stdin>", "<string>", "<console>", "<ipython")
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    # The scripts of libraries, as of a server, are not the application either.
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    return tuple(folder + os.sep for folder in folders)


_FOLDERS = _library_folders()

_are_libraries: dict[str, bool] = {}
"""By the name of a file, whether it belongs to an installed library or to Python."""

_sites: dict[tuple[int, int], tuple[CodeType, CallSite]] = {}
"""By the id of a code object, which is kept for that, and the instruction."""


def find() -> CallSite:
    """Return the innermost line of the application that is running now.

    An application may be installed like a library. If every line on the stack belongs to an
    installed package, it is the innermost that is neither lazyentity's, a client's nor Python's.
    """
    frame: FrameType | None = sys._getframe(1)
    installed = None
    for _ in range(_MAX_FRAMES):
        if frame is None:
            break
        package = module_of(frame).partition(".")[0]
        if package != "lazyentity":
            if not _is_library(frame.f_code.co_filename):
                return _site(frame)
            if (
                installed is None
                and package not in CLIENT_PACKAGES
                and package not in sys.stdlib_module_names
            ):
                installed = frame
        frame = frame.f_back
    return NOWHERE if installed is None else _site(installed)


def _is_library(file: str) -> bool:
    known = _are_libraries.get(file)
    if known is None:
        if file.startswith("<"):
            known = not file.startswith(_INTERACTIVE)
        else:
            known = file.startswith(_FOLDERS) or any(part in file for part in _INSTALLED)
        _are_libraries[file] = known
    return known


def _site(frame: FrameType) -> CallSite:
    code = frame.f_code
    place = id(code), frame.f_lasti
    known = _sites.get(place)
    if known is not None:
        return known[1]
    # A number of a line is slow to find.
    found = CallSite(code.co_filename, frame.f_lineno or 0, code.co_name)
    _sites[place] = code, found
    return found
