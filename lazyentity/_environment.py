"""What the environment asks for: the switches, and the backend, which is found without an import.

A backend imports google-cloud-datastore, and lazyentity must not do so before the application.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from types import ModuleType
from typing import Final, NamedTuple

DISABLE: Final = "LAZYENTITY_DISABLE"
"""Patch nothing."""
EAGER_SWITCH: Final = "LAZYENTITY_EAGER"
"""Return stock entities unless the caller passes ``eager=False``."""
ADAPTERS: Final = "LAZYENTITY_ADAPTERS"
"""Adapt libraries of C code; on by default."""
PROFILE_PROCESS: Final = "LAZYENTITY_PROFILE_PROCESS"
"""Set by lazyentity itself: the first process of a profiled program."""
PROFILE: Final = "LAZYENTITY_PROFILE"
"""Report at exit what was received and decoded: on, or the path of a file."""

_OFF = frozenset(("0", "false", "no", "off"))


def _word(name: str) -> str:
    return os.environ.get(name, "").strip().lower()


def is_set(name: str) -> bool:
    """Say whether a switch is set to anything but ``0``, ``false``, ``no`` or ``off``."""
    return _word(name) not in _OFF | {""}


def is_off(name: str) -> bool:
    """Say whether a switch is set to ``0``, ``false``, ``no`` or ``off``."""
    return _word(name) in _OFF


def is_disabled() -> bool:
    """Say whether :data:`DISABLE` is set, and log that it is."""
    if not is_set(DISABLE):
        return False
    # Here, for this process need not log anything.
    import logging

    logging.getLogger("lazyentity").warning(
        "%s is set: reads stay as they are, nothing is patched", DISABLE
    )
    return True


REQUEST = "LAZYENTITY_BACKEND"
"""The variable that requests a backend."""
_NATIVE = "lazyentity.native"
_WITHOUT_CLIENT = f"{_NATIVE}.adapting"

NATIVE_MODULES = (
    "lazyentity.native.adapting",
    "lazyentity.native.documents",
    "lazyentity.native.encoder",
    "lazyentity.native.entities",
    "lazyentity.native.entityproto",
)
"""The compiled modules, which a build without a C compiler leaves out."""

BUILD_IT: Final = (
    "install a C compiler and the headers of Python, and run `pip install --force-reinstall "
    "--no-cache-dir --no-deps .` in a checkout of lazyentity"
)
"""How to get the native backend where it was not built; setup.py says it, too."""


class Obstacle(NamedTuple):
    """A reason why the pure backend, the slower one, serves.

    Attributes:
        problem: the reason.
        remedy: how to get the native backend.
        is_unexpected: whether the native backend was built. Then the choice warns.
    """

    problem: str
    remedy: str
    is_unexpected: bool = False

    def __str__(self) -> str:
        return f"{self.problem}; to get the native backend, {self.remedy}"


def requested_backend() -> str:
    """Return ``"native"``, ``"pure"``, or ``""`` if there is no request.

    Raises:
        ImportError: if another name is requested.
    """
    requested = os.environ.get(REQUEST, "")
    if requested not in ("", "native", "pure"):
        raise ImportError(
            f"{REQUEST}={requested!r} is not a backend; accepted are 'native' and 'pure'"
        )
    return requested


def obstacle() -> Obstacle | None:
    """Return why the native backend does not serve, as far as is known without importing it.

    None, if the native backend serves. :data:`lazyentity._backend.obstacle` is certain, but its
    import imports google-cloud-datastore.

    Raises:
        ImportError: if the requested name is not that of a backend.
    """
    if requested_backend() == "pure":
        return Obstacle(f"{REQUEST}=pure requests the pure backend", "unset the variable")
    missing = (name for name in NATIVE_MODULES if importlib.util.find_spec(name) is None)
    return unsupported_interpreter() or next(map(_not_built, missing), None)


def expected_backend() -> str:
    """Return the name of the backend that serves, provided that it can be loaded.

    Raises:
        ImportError: if the requested backend is unknown or cannot serve.
    """
    found = obstacle()
    if found is None:
        return "native"
    if requested_backend() == "native":
        raise unmet_request(found)
    return "pure"


def is_native_expected() -> bool:
    """Say whether the native backend serves, provided that it can be loaded."""
    try:
        return expected_backend() == "native"
    except ImportError:
        return False


def unsupported_interpreter() -> Obstacle | None:
    """Return why the native backend must not be imported into this interpreter; None if it may be.

    The backend was not tested without the global interpreter lock, and its modules keep objects of
    the interpreter that imports them first.
    """
    if "free-threading build" in sys.version:
        return Obstacle(
            "the native backend does not support free-threaded Python",
            "run the default build of Python",
            is_unexpected=True,
        )
    if _is_sub_interpreter():
        return Obstacle(
            "the native backend does not support sub-interpreters",
            "run the application in the main interpreter (in mod_wsgi: WSGIApplicationGroup "
            "%{GLOBAL})",
            is_unexpected=True,
        )
    return None


def _is_sub_interpreter() -> bool:
    name = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    try:
        interpreters = importlib.import_module(name)
    except ImportError:
        # The module is optional. Cython itself refuses a second interpreter.
        return False
    return bool(interpreters.get_current() != interpreters.get_main())


def native_without_client() -> ModuleType | None:
    """Import the one native module that imports no client.

    None, if the pure backend serves, or if the request is unknown; then the import of the backend,
    which imports google-cloud-datastore, raises.
    """
    with contextlib.suppress(ImportError):
        if requested_backend() != "pure" and unsupported_interpreter() is None:
            return importlib.import_module(_WITHOUT_CLIENT)
    return None


def failed_import(error: ImportError) -> Obstacle:
    """Return why importing the native backend failed."""
    name = error.name or ""
    if isinstance(error, ModuleNotFoundError) and name.startswith(f"{_NATIVE}."):
        return _not_built(name)
    problem = f"the native backend was built but cannot be loaded ({error})"
    return Obstacle(problem, BUILD_IT, is_unexpected=True)


def _not_built(module: str) -> Obstacle:
    return Obstacle(f"the native backend was not built, there is no module {module}", BUILD_IT)


def unmet_request(found: Obstacle) -> ImportError:
    """Return the error of a request for the native backend that cannot be met."""
    return ImportError(f"{REQUEST}=native cannot be met: {found}. Or unset the variable.")
