"""The backend, the reason if it is not the native one, and the implementation of protobuf."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Final

import lazyentity.native
from lazyentity._choice import NATIVE_MODULES, REQUEST, expected_backend, requested_backend
from lazyentity.cli.doctor.findings import NOTE, PROBLEM, Finding, Level

PROTOBUF: Final = "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"

_GET_NATIVE = (
    "where there is a C compiler and no wheel: pip install --force-reinstall --no-deps "
    "--no-cache-dir --no-binary lazyentity lazyentity"
)


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
        expected = expected_backend()
    except ImportError as error:
        return Finding("backend", str(error), PROBLEM, _GET_NATIVE)
    if expected == "native":
        failure = _loading_error() if may_import else None
        if failure is None:
            return Finding("backend", "native")
        level: Level = PROBLEM if requested else NOTE
        return Finding(
            "backend", f"native was built and cannot be loaded ({failure})", level, _GET_NATIVE
        )
    if requested == "pure":
        return Finding(
            "backend", f"pure, the slower one, for {REQUEST} is set", NOTE, f"unset {REQUEST}"
        )
    return Finding("backend", f"pure, the slower one: {_reason()}", NOTE, _GET_NATIVE)


def _loading_error() -> ImportError | None:
    try:
        # The backend imports it, and its own import needs the backend complete.
        importlib.import_module("google.cloud.datastore")
        importlib.import_module("lazyentity.native.backend")
    except ImportError as error:
        return error
    return None


def _reason() -> str:
    """Return why there is no native backend for this interpreter."""
    folder = Path(lazyentity.native.__path__[0])
    built = sorted(path.name for path in folder.iterdir() if path.suffix in (".so", ".pyd"))
    # Of these suffixes some are the end of others.
    foreign = [name for name in built if f".{name.partition('.')[2]}" not in EXTENSION_SUFFIXES]
    if foreign:
        return f"the native one was built for another Python ({foreign[0]})"
    if built:
        missing = [name for name in NATIVE_MODULES if importlib.util.find_spec(name) is None]
        return f"the native one was built in part, without {missing[0]}"
    return "the native one was not built, as without a C compiler"


def _protobuf() -> Finding:
    # Not at the top: it is the first module of protobuf, and may be broken.
    from google.protobuf.internal import api_implementation

    implementation = api_implementation.Type()
    if implementation == "upb":
        return Finding("protobuf", "upb, its C implementation")
    advice = "install a wheel of protobuf for this platform: pip install --force-reinstall protobuf"
    if PROTOBUF in os.environ:
        advice = f"unset {PROTOBUF}"
    return Finding(
        "protobuf", f"its implementation is {implementation!r}, not upb, and slow", NOTE, advice
    )
