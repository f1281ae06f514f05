"""Lines of the application, found from inside of a call to lazyentity or to a client."""

from __future__ import annotations

import inspect
import os
import site
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Final, NamedTuple

from lazyentity.codec.describing import module_of
from lazyentity.profiling.packages import CLIENT_PACKAGES

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
_MAX_CALLERS = 1000
NEAR: Final = 16
"""How many frames are looked at for the reader of a single property."""
_FAR = 200

_LOOPS = frozenset(("asyncio.base_events", "asyncio.events", "asyncio.runners"))
_INTERACTIVE = ("<stdin>", "<string>", "<console>", "<ipython")


class CallSite(NamedTuple):
    """A line of code.

    Attributes:
        file: its path; empty, if there is none.
        line: its number, from 1.
        function: the function that it is in.
        via: the module that it calls, if that is a library and not lazyentity.
        is_earlier: whether the line received the entities, and a library that no line of the
            application called used them later, as a framework does with the result of a function.
    """

    file: str
    line: int
    function: str
    via: str
    is_earlier: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.function


OTHERS: Final = CallSite("", 0, "(other sites)", "")
"""In place of further sites, once there are too many."""
NOWHERE: Final = CallSite("", 0, "(no Python code)", "")


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


class Reception:
    """The part of the application that received entities at a site.

    Args:
        site: the line.
        package: the top-level package of the line, if it is installed like a library; else "".

    Attributes:
        callers: the places of the application's functions that were waiting for the line.
    """

    __slots__ = ("callers", "package", "site")

    def __init__(self, site: CallSite, package: str) -> None:
        self.site = site
        self.package = package
        self.callers: set[_Place] = set()

    def add_callers(self, frame: FrameType) -> None:
        """Add the places of the application's functions that wait for a frame."""
        for outer, called in _outwards(frame.f_back, _FAR, frame):
            if self._is_part(outer) and len(self.callers) < _MAX_CALLERS:
                self.callers.add(_place(outer, called))

    def is_user(self, frame: FrameType, called: FrameType | None) -> bool:
        """Say whether a frame on the stack is of the application, and the entities got to it.

        A function that waits at the same place as when they were received did not get them. It is a
        middleware, for one, whose framework called the function that received them, and hands them
        to a library.
        """
        return (
            self._is_part(frame)
            and not _serves(called)
            and _place(frame, called) not in self.callers
        )

    def _is_part(self, frame: FrameType) -> bool:
        role = _known_role(frame)
        return role == APPLICATION or (role == LIBRARY and _package(frame) == self.package)


_Place = tuple[CodeType, int, CodeType | None]
"""A function, the place that it is at, and the function that it called there."""


def _place(frame: FrameType, called: FrameType | None) -> _Place:
    code = frame.f_code
    # A coroutine that waits can have resumed at another instruction of its line.
    at = (frame.f_lineno or 0) if code.co_flags & _AWAITS else frame.f_lasti
    return code, at, None if called is None else called.f_code


_AWAITS = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE | inspect.CO_ASYNC_GENERATOR
_RESUMES = _AWAITS | inspect.CO_GENERATOR


_PROTOCOLS = (("scope", "receive", "send"), ("environ", "start_response"))


def _serves(called: FrameType | None) -> bool:
    """Say whether a function was called that serves requests: by ASGI or WSGI.

    It gets no entities from its caller, a middleware. The function that received them may have run
    in another thread, where the middleware is not among its callers.
    """
    if called is None:
        return False
    code = called.f_code
    parameters = code.co_varnames[: code.co_argcount]
    return any(parameters[-len(names) :] == names for names in _PROTOCOLS)


def _outwards(
    frame: FrameType | None, limit: int, called: FrameType | None = None
) -> Iterator[tuple[FrameType, FrameType | None]]:
    """Yield a frame and the one that it called, then its caller and so on, up to an event loop.

    The code that started the loop did not call the code that runs in it.
    """
    is_library, awaits = False, 0
    for _ in range(limit):
        if frame is None:
            return
        role, flags = _known_role(frame), frame.f_code.co_flags
        # A loop in C has no frame: a coroutine is resumed by a function that is none.
        if is_library and (role == LOOP or (awaits and not flags & _RESUMES)):
            return
        yield frame, called
        is_library = is_library or role == LIBRARY
        awaits = flags & _AWAITS
        called, frame = frame, frame.f_back


def _package(frame: FrameType) -> str:
    return module_of(frame).partition(".")[0]


def _module(frame: FrameType | None) -> str:
    """Return the name of a library's module; "" without a frame, and for lazyentity."""
    return "" if frame is None or _is_own(frame) else module_of(frame)


_Found = tuple[FrameType | None, FrameType | None]
"""A frame, and the one that it called."""


def _application_frame(frame: FrameType | None, limit: int) -> _Found:
    """Return the innermost frame of the application, and the one that it called.

    An application may be installed like a library. If there is no other frame, it is the innermost
    one that is neither lazyentity's, a client's nor Python's, or else the innermost one that is not
    lazyentity's; so it is for a library that runs in an event loop.
    """
    innermost: _Found = None, None
    is_passed = True
    for each, called in _outwards(frame, limit):
        role = _known_role(each)
        if role == APPLICATION and not _serves(called):
            return each, called
        if role == LIBRARY and is_passed:
            package = _package(each)
            is_passed = package in CLIENT_PACKAGES or package in sys.stdlib_module_names
            if not is_passed or innermost[0] is None:
                innermost = each, called
    return innermost


def _user_frame(frame: FrameType, reception: Reception) -> _Found:
    """Return the innermost frame of the application that entities got to, and the one it called.

    If there is none, the second one is the innermost frame of a library.
    """
    innermost = None
    for each, called in _outwards(frame, _FAR):
        if reception.is_user(each, called):
            return each, called
        role = _known_role(each)
        if innermost is None and role == LIBRARY:
            innermost = each
        elif called is innermost and role == OWN:
            # A function that lazyentity replaced calls the original: its caller is meant.
            innermost = None
    return None, innermost


_Codes = tuple[CodeType, CodeType | None]

_sites: dict[tuple[int, int, int], tuple[_Codes, CallSite]] = {}


def find() -> CallSite:
    """Return the line of the application that is running now."""
    frame, called = _application_frame(sys._getframe(1), _FAR)
    return NOWHERE if frame is None else _site(frame, called)


def receive(known: dict[CallSite, Reception]) -> CallSite:
    """Return the line of the application that receives entities now.

    Args:
        known: the receptions by site; the line's is added, or learns who called the line.
    """
    frame, called = _application_frame(sys._getframe(1), _FAR)
    if frame is None:
        return NOWHERE
    found = _site(frame, called)
    reception = known.get(found)
    if reception is None:
        package = "" if _known_role(frame) == APPLICATION else _package(frame)
        reception = known.setdefault(found, Reception(found, package))
    reception.add_callers(frame)
    return found


def find_user(reception: Reception | None) -> CallSite:
    """Return the line of the application that uses entities now, by itself or by a library.

    Args:
        reception: of the entities; None, if it is not known.
    """
    if reception is None:
        return find()
    frame, called = _user_frame(sys._getframe(1), reception)
    if frame is None:
        # A library uses them that the application did not call.
        return reception.site._replace(via=_module(called), is_earlier=True)
    return _site(frame, called)


def _site(frame: FrameType, called: FrameType | None) -> CallSite:
    # The same line calls the client or lazyentity, if it has a stock client once and a wrapped one.
    code, called_code = codes = frame.f_code, None if called is None else called.f_code
    place = id(code), frame.f_lasti, id(called_code)
    # With the code itself: its id can be reused once it is gone.
    known = _sites.get(place)
    if known is not None and known[0][0] is code and known[0][1] is called_code:
        return known[1]
    if len(_sites) >= _MAX_SITES:
        return OTHERS
    found = CallSite(code.co_filename, frame.f_lineno or 0, code.co_name, _module(called))
    _sites[place] = codes, found
    return found


def near(frame: FrameType) -> FrameType:
    """Return the frame of the application that is next to one; the frame itself, if none is."""
    return _application_frame(frame, NEAR)[0] or frame
