"""Patching the supported clients, all of them or by name."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from types import FrameType, ModuleType

from packaging.version import Version

from lazyentity.patches import datastore, ndb
from lazyentity.patches.imports import WhenImported
from lazyentity.patches.registry import Seam, modules_holding

__all__ = ["patch", "patched", "unpatch"]

_logger = logging.getLogger("lazyentity")

_DISABLE = "LAZYENTITY_DISABLE"
_NOT_DISABLED = frozenset(("", "0", "false", "no", "off"))

_CLIENTS: dict[str, ModuleType] = {"datastore": datastore, "ndb": ndb}

_lock = threading.RLock()
_refused: set[str] = set()


def _patch_imported_ndb() -> None:
    with _lock:
        _patch_client("ndb", strict=False)


_ndb_import = WhenImported(ndb.PACKAGE, _patch_imported_ndb)


def _selected(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in _CLIENTS:
            raise ValueError(f"unknown client {name!r}; known are {', '.join(map(repr, _CLIENTS))}")
    return names or tuple(_CLIENTS)


def patch(*names: str, strict: bool = False) -> None:
    """Make the reads of every supported client return lazy entities, whenever the client was made.

    A client that cannot be patched (its version is not supported, or something that would have to
    be replaced is not there) is left as it is, with one warning. google-cloud-ndb may also be not
    there at all; if it is, it is patched when the application imports it. Patching again does
    nothing. While the environment variable ``LAZYENTITY_DISABLE`` is set to anything but ``0``,
    ``false``, ``no`` or ``off``, this logs that and does nothing.

    Args:
        names: which clients, of ``"datastore"`` and ``"ndb"``. All that are installed, if none is
            named.
        strict: raise instead of warning. A client that is installed is imported for that.

    Raises:
        ValueError: if a name is not known.
        RuntimeError: if ``strict`` and a client cannot be patched.
    """
    selected = _selected(names)
    if os.environ.get(_DISABLE, "").strip().lower() not in _NOT_DISABLED:
        _logger.warning("%s is set: reads stay as they are, nothing is patched", _DISABLE)
        return
    with _lock:
        for name in selected:
            if name != "ndb" or _is_ndb_due(strict=strict, is_named="ndb" in names):
                _patch_client(name, strict)


def _is_ndb_due(*, strict: bool, is_named: bool) -> bool:
    """Say whether ndb is to be patched at once; if it is to be patched later, see to that."""
    if not _ndb_import.is_installed():
        if is_named:
            _refuse("ndb", f"lazyentity: {ndb.DISTRIBUTION} is not installed", strict)
        return False
    if strict or _ndb_import.is_imported():
        return True
    _ndb_import.wait()
    return False


def _is_supported(installed: str, supported: str) -> bool:
    # By release, so that a pre-release of the first version beyond the range is beyond it, too.
    # packaging.specifiers would do, at three times the cost of importing packaging.version.
    lowest, bound = (Version(part.lstrip("<>=")).release for part in supported.split(","))
    return lowest <= Version(installed).release < bound


def _patch_client(name: str, strict: bool) -> None:
    client = _CLIENTS[name]
    if client.PATCH.active:
        return
    problem = None
    installed_version = client.installed_version()
    if not _is_supported(installed_version, client.SUPPORTED_VERSIONS):
        problem = (
            f"{client.DISTRIBUTION} {installed_version} is not supported "
            f"(supported: {client.SUPPORTED_VERSIONS})"
        )
    else:
        try:
            client.PATCH.apply()
        except (AttributeError, ImportError) as error:
            problem = f"{client.DISTRIBUTION} {installed_version} cannot be patched ({error})"
    if problem is not None:
        message = f"lazyentity: {problem}; nothing is patched and all its entities stay stock"
        _refuse(name, message, strict)
        return
    _warn_of_old_references(client.CONVERSION)


def _refuse(name: str, message: str, strict: bool) -> None:
    if strict:
        raise RuntimeError(message)
    if name not in _refused:
        _refused.add(name)
        _warn(message)


def _warn_of_old_references(conversion: Seam) -> None:
    holders = modules_holding(conversion.original, home=conversion.module)
    if holders:
        _warn(
            f"lazyentity: patched too late for these modules, which imported {conversion.path} "
            f"by name before and go on making stock entities with it: {', '.join(holders)}"
        )


def _warn(message: str) -> None:
    """Warn at the line that called into lazyentity, ``import lazyentity.auto`` included."""
    ours = __name__.partition(".")[0]
    stacklevel = 1
    frame = sys._getframe()
    while frame.f_back is not None and _package(frame) in (ours, "importlib", "wrapt"):
        # warnings does not count importlib's own frames.
        stacklevel += _package(frame) != "importlib"
        frame = frame.f_back
    warnings.warn(message, RuntimeWarning, stacklevel=stacklevel)


def _package(frame: FrameType) -> str:
    name: str = frame.f_globals.get("__name__", "")
    return name.partition(".")[0]


def unpatch(*names: str) -> None:
    """Undo :func:`patch`. Clients made in the meantime, and entities read, go on working.

    What somebody else wrapped after it was patched is not touched, but does what the original did.

    Args:
        names: which clients; all, if none is named.

    Raises:
        ValueError: if a name is not known.
    """
    with _lock:
        for name in _selected(names):
            if name == "ndb":
                _ndb_import.cancel()
            _CLIENTS[name].PATCH.revert()


def patched() -> tuple[str, ...]:
    """Return the names of the clients that are patched, or will be as soon as they are imported."""
    return tuple(
        name
        for name, client in _CLIENTS.items()
        if client.PATCH.active or (name == "ndb" and _ndb_import.awaited)
    )
