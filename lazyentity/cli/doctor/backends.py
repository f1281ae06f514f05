"""The backend, the reason if it is not the native one, and the implementation of protobuf."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

import lazyentity.native
from lazyentity._choice import REQUEST, Obstacle, failed_import, obstacle, requested_backend
from lazyentity.cli.doctor.findings import NOTE, PROBLEM, Finding

PROTOBUF: Final = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"
_GROUP: Final = "backends"


def findings(may_import: bool) -> Iterator[Finding]:
    """Find the backend and the implementation of protobuf.

    Args:
        may_import: whether importing google-cloud-datastore patches nothing.
    """
    yield _backend(may_import)
    yield _protobuf()


def _backend(may_import: bool) -> Finding:
    try:
        requested = requested_backend()
        found = obstacle() or (_obstacle_to_loading() if may_import else None)
    except ImportError as error:
        return Finding(
            "backend", str(error), PROBLEM, f"set {REQUEST} to one of these, or unset it"
        )
    except Exception as error:  # noqa: BLE001  # the client, or protobuf, may be broken in any way
        return Finding(
            "backend",
            f"cannot be loaded: importing google-cloud-datastore raises {_sentence(error)}",
            PROBLEM,
            "mend that first, as the lines below say",
        )
    if found is None:
        return Finding("backend", "native", brief="native", group=_GROUP)
    problem = _built_for_another() or found.problem
    if requested == "native":
        text = f"{REQUEST}=native cannot be met: {problem}"
        return Finding("backend", text, PROBLEM, f"{found.remedy}, or unset {REQUEST}")
    return Finding("backend", f"pure, the slower one: {problem}", NOTE, found.remedy)


def _obstacle_to_loading() -> Obstacle | None:
    try:
        # The backend imports the client, whose own import needs the backend complete.
        importlib.import_module("google.cloud.datastore")
        importlib.import_module("lazyentity.native.backend")
    except ImportError as error:
        return failed_import(error)
    return None


def _built_for_another() -> str:
    """Return the problem that there are modules, but of another Python; empty if there are none."""
    if requested_backend() == "pure":
        return ""
    folder = Path(lazyentity.native.__path__[0])
    built = sorted(path.name for path in folder.iterdir() if path.suffix in (".so", ".pyd"))
    # Some of these suffixes are the end of others.
    loaded = [name for name in built if f".{name.partition('.')[2]}" in EXTENSION_SUFFIXES]
    if loaded or not built:
        return ""
    return f"the native backend was built for another Python ({built[0]})"


def _protobuf() -> Finding:
    advice = "install a wheel of protobuf for this platform: pip install --force-reinstall protobuf"
    if PROTOBUF in os.environ:
        advice = f"unset {PROTOBUF}"
    try:
        # Not at the top: this is the first import of protobuf, which may be broken.
        from google.protobuf.internal import api_implementation
    except Exception as error:  # noqa: BLE001  # as above
        text = f"cannot be imported: {_sentence(error)}"
        return Finding("protobuf", text, PROBLEM, advice)
    implementation = api_implementation.Type()
    if implementation == "upb":
        return Finding(
            "protobuf", "upb, its C implementation", brief="protobuf's is upb", group=_GROUP
        )
    return Finding(
        "protobuf", f"its implementation is {implementation!r}, not upb, and slow", NOTE, advice
    )


def _sentence(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
