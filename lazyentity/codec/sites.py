"""Lines of the application, found from inside of a call to lazyentity or to a client."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from types import CodeType, FrameType
from typing import Final, NamedTuple

from lazyentity.codec.describing import module_of

OWN: Final = 0
LIBRARY: Final = 1
APPLICATION: Final = 2
LOOP: Final = 3
"""The event loop: the code that started it did not call what runs in it."""

ROLES: Final[dict[str, int]] = {}
"""The files of code seen so far, and whose they are."""

APPLICATIONS: Final[set[str]] = set()
"""The packages in ``lazyentity`` that are applications themselves; each adds its name."""

_MAX_FILES = 10_000
_MAX_SITES = 10_000
NEAR: Final = 16
"""How many frames are looked at for the reader of a single property."""
_FAR = 200

_LOOPS = frozenset(("asyncio.base_events", "asyncio.events", "asyncio.runners"))
_INTERACTIVE = ("<stdin>", "<string>", "<console>", "<ipython")


class Site(NamedTuple):
    """A line of code.

    Attributes:
        file: its path; empty, if there is none.
        line: its number, from 1.
        function: the function that it is in.
        via: the module that it calls, if that is a library and not lazyentity.
    """

    file: str
    line: int
    function: str
    via: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.function


OTHERS: Final = Site("", 0, "(other sites)", "")
"""In place of further sites, once there are too many."""
NOWHERE: Final = Site("", 0, "(no Python code)", "")


def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    # The scripts of libraries, as of a server, are not the application either.
    names = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
    folders = {paths[name] for name in names}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    return tuple(sorted(folder + os.sep for folder in folders))


_FOLDERS = _library_folders()
_PARTS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _is_own(frame: FrameType) -> bool:
    packages = module_of(frame).split(".")
    return packages[0] == "lazyentity" and ".".join(packages[:2]) not in APPLICATIONS


def role_of(frame: FrameType) -> int:
    """Return whose code a frame runs, and keep the answer in :data:`ROLES`."""
    file = frame.f_code.co_filename
    if _is_own(frame):
        role = OWN
    elif module_of(frame) in _LOOPS:
        role = LOOP
    elif file.startswith("<"):
        role = APPLICATION if file.startswith(_INTERACTIVE) else LIBRARY
    elif file.startswith(_FOLDERS) or any(part in file for part in _PARTS):
        role = LIBRARY
    else:
        role = APPLICATION
    if len(ROLES) >= _MAX_FILES:
        ROLES.clear()
    ROLES[file] = role
    return role


def _known_role(frame: FrameType) -> int:
    role = ROLES.get(frame.f_code.co_filename)
    return role_of(frame) if role is None else role


def _application_frame(
    frame: FrameType | None, limit: int
) -> tuple[FrameType | None, FrameType | None]:
    """Return the innermost frame of the application, and the one that it called.

    An application may be installed like a library. If there is no other frame, it is the innermost
    one that is not lazyentity's; so it is for a library that runs in an event loop.
    """
    called = innermost = called_by_innermost = None
    for _ in range(limit):
        if frame is None:
            break
        role = _known_role(frame)
        if role == APPLICATION:
            return frame, called
        if role == LOOP and innermost is not None:
            break
        if role == LIBRARY and innermost is None:
            innermost, called_by_innermost = frame, called
        called, frame = frame, frame.f_back
    return innermost, called_by_innermost


_Codes = tuple[CodeType, CodeType | None]

_sites: dict[tuple[int, int, int], tuple[_Codes, Site]] = {}


def find() -> Site:
    """Return the line of the application that is running now."""
    frame, called = _application_frame(sys._getframe(1), _FAR)
    if frame is None:
        return NOWHERE
    # The same line calls the client or lazyentity, if it has a stock client once and a wrapped one.
    code, called_code = codes = frame.f_code, None if called is None else called.f_code
    place = id(code), frame.f_lasti, id(called_code)
    # With the code itself: the id of one that is gone can become that of another.
    known = _sites.get(place)
    if known is not None and known[0][0] is code and known[0][1] is called_code:
        return known[1]
    if len(_sites) >= _MAX_SITES:
        return OTHERS
    via = ""
    if called is not None and not _is_own(called):
        via = module_of(called)
    found = Site(code.co_filename, frame.f_lineno or 0, code.co_name, via)
    _sites[place] = codes, found
    return found


def near(frame: FrameType) -> FrameType:
    """Return the frame of the application that is next to one; the frame itself, if none is."""
    return _application_frame(frame, NEAR)[0] or frame
