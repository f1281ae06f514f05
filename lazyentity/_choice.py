"""The requested backend and the built one, found without importing either.

A backend imports google-cloud-datastore, and lazyentity must not do so before the application.
"""

from __future__ import annotations

import importlib.util
import os

_REQUEST = "LAZYENTITY_BACKEND"
_NATIVE = "lazyentity.native"

NATIVE_MODULES = (
    f"{_NATIVE}.decoding",
    f"{_NATIVE}.eager",
    f"{_NATIVE}.encoder",
    f"{_NATIVE}.entityproto",
    f"{_NATIVE}.index",
    f"{_NATIVE}.keys",
    f"{_NATIVE}.mapping",
    f"{_NATIVE}.received",
    f"{_NATIVE}.responses",
    f"{_NATIVE}.shapes",
    f"{_NATIVE}.timestamps",
    f"{_NATIVE}.types",
    f"{_NATIVE}.undecoded",
    f"{_NATIVE}.untouched",
    f"{_NATIVE}.values",
)
"""The compiled modules, which a build without a C compiler leaves out."""


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


def expected_backend() -> str:
    """Return the name of the backend that serves, provided that it can be loaded.

    Raises:
        ImportError: if the one that is requested is unknown or was not built.
    """
    requested = requested_backend()
    if requested == "pure":
        return "pure"
    for name in NATIVE_MODULES:
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
