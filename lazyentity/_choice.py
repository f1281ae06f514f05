"""The requested backend and the built one, found without importing either.

A backend imports google-cloud-datastore, and lazyentity must not do so before the application.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

_REQUEST = "LAZYENTITY_BACKEND"
_NATIVE = "lazyentity.native"


def requested_backend() -> str:
    """Return ``"native"``, ``"pure"``, or ``""`` if there is no request.

    Raises:
        ImportError: if another name is requested.
    """
    requested = os.environ.get(_REQUEST, "")
    if requested not in ("", "native", "pure"):
        raise ImportError(
            f"{_REQUEST}={requested!r} is not a backend; accepted are 'native' and 'pure'"
        )
    return requested


def native_modules() -> list[str]:
    """Return the compiled modules, which a build without a C compiler leaves out.

    Each has a stub beside it, which is installed whether the module was compiled or not.
    """
    stubs = (Path(__file__).parent / "native").glob("*.pyi")
    return sorted(f"{_NATIVE}.{stub.stem}" for stub in stubs)


def expected_backend() -> str:
    """Return the name of the backend that serves, provided that it can be loaded.

    Raises:
        ImportError: if the one that is requested is unknown or was not built.
    """
    requested = requested_backend()
    if requested == "pure":
        return "pure"
    for name in native_modules():
        if importlib.util.find_spec(name) is None:
            if requested == "native":
                raise unmet_request(f"there is no module {name}")
            return "pure"
    return "native"


def is_missing(error: ImportError) -> bool:
    """Say whether importing the native backend failed because it was not built."""
    name = error.name or ""
    return isinstance(error, ModuleNotFoundError) and name.startswith(f"{_NATIVE}.")


def unmet_request(reason: object) -> ImportError:
    """Return the error of a request for the native backend that cannot be met."""
    return ImportError(
        f"{_REQUEST}=native cannot be met ({reason}). Install lazyentity from source where "
        "there is a working C compiler, or unset the variable."
    )
