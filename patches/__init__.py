"""Patching the supported clients, all of them or by name.

:mod:`lazyentity.patches.clients` lists the clients; this module is about none in particular.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from typing import cast

from lazyentity._environment import (
    EAGER_SWITCH,
    expected_backend,
    is_disabled,
    is_set,
    obstacle,
    requested_backend,
)
from lazyentity._mode import require_flag
from lazyentity._version import __version__
from lazyentity.codec.describing import safe_repr
from lazyentity.patches import adapters, notices
from lazyentity.patches.clients import CLIENTS, ClientName
from lazyentity.patches.imports import WhenImported, problem_with_wrapt
from lazyentity.patches.registry import ForkableLock
from lazyentity.patches.spec import ClientSpec
from lazyentity.profiling import CLIENT_PACKAGES

__all__ = ["patch", "patched", "unpatch"]

_lock = ForkableLock()
_told: set[str] = set()
"""The warnings so far: each is given once."""
_imports: dict[ClientSpec, WhenImported] = {}


def _import_of(client: ClientSpec) -> WhenImported:
    """Return the object that waits for the import of a client, the same one each time."""

    def act() -> None:
        # Without the lock: another thread that imports the same client takes the lock.
        client.import_needed()
        _import_lazy_class()
        with _lock:
            _patch_imported(client, strict=False)

    known = _imports.get(client)
    return known or _imports.setdefault(client, WhenImported(client.waits_for_import, act))


def _selected(names: tuple[str, ...]) -> list[ClientSpec]:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(
                f"clients are named by single arguments, not by {safe_repr(name)}; unpack a list: "
                "*names"
            )
        if name not in CLIENTS:
            raise ValueError(
                f"unknown client {safe_repr(name)}; known are {', '.join(map(repr, CLIENTS))}"
            )
    return [part for name in names or CLIENTS for part in CLIENTS[name].with_parts()]


def patch(*names: ClientName, strict: bool = False, eager: bool | None = None) -> None:
    """Make the reads of every supported client return lazy entities, whenever the client was made.

    >>> import lazyentity
    >>> lazyentity.patch("datastore")
    >>> lazyentity.patched()
    ('datastore',)

    With ``eager``, reads return stock entities and stock models, in less time than the client
    takes.

    - A client that the application has not imported yet is patched when it is imported.
    - A client stays stock, with one warning, if its version is not supported or if it lacks an
      attribute that lazyentity replaces or uses. So do the clients that are built on it.
    - A client that needs the native backend stays stock if the pure backend is in use. One warning
      says so if the client is named or imported; ``strict`` raises if it is named.
    - If another library has replaced a function or class that the lazy calls would bypass, the
      calls of that client run the client's own code, with one warning: the replacement is called,
      and the results are not lazy. A replacement after ``patch()`` has the same effect, without a
      warning.
    - Patching again changes only whether reads are lazy or eager.
    - One line is logged at level INFO: the clients with their versions, whether they are patched,
      and the backend, with the reason if it is the pure one. If logging is not configured yet, the
      line is logged at the first RPC after that.
    - While the environment variable ``LAZYENTITY_DISABLE`` is set to anything but ``0``, ``false``,
      ``no`` or ``off``, ``patch()`` logs that and does nothing else.

    Args:
        names: which clients, by the names in :data:`lazyentity.patches.clients.CLIENTS`. Without a
            name, all installed clients.
        strict: raise instead of warning, and patch no further client. This imports the installed
            clients.
        eager: return stock entities. None, the default, is True if the environment variable
            ``LAZYENTITY_EAGER`` is set, to any value that would set ``LAZYENTITY_DISABLE``. The
            mode applies to all later conversions, also of results that were received before;
            responses of Firestore keep the mode in which they were requested. Wrapped queries and
            clients keep their own mode: see ``wrap()``.

    Raises:
        ValueError: if a name is not known.
        ImportError: if ``LAZYENTITY_BACKEND`` requests a backend that is not available.
        RuntimeError: if ``strict`` is set and a client cannot be patched.
    """
    require_flag("patch", "strict", strict)
    require_flag("patch", "eager", eager)
    selected = _selected(names)
    if is_disabled():
        return
    if requested_backend():
        expected_backend()
    problem = problem_with_wrapt()
    if problem is not None:
        message = f"lazyentity: nothing is patched: {problem}"
        if strict:
            raise RuntimeError(message)
        _warn_once(message)
        return
    lacking = [client for client in selected if client.lacks_native()]
    selected = [client for client in selected if client not in lacking]
    _tell_of_lacking(lacking, names, strict)
    is_eager = is_set(EAGER_SWITCH) if eager is None else eager
    # Another thread may be importing a client, and takes the lock when it has done so. Wait for it
    # without the lock.
    imported = {
        client
        for client in selected
        if (strict or client.is_imported()) and _import(client, strict)
    }
    if imported:
        _import_lazy_class()
    with _lock:
        for client in selected:
            client.patch.set_eager(is_eager)
            if client in imported:
                _patch_imported(client, strict)
            else:
                _await(client, strict=strict, is_named=client.name in names)
        is_anything_patched = bool(patched())
    if is_anything_patched and not is_eager:
        # Without the lock: other threads may be importing a library that is adapted.
        adapters.install()
    notices.announce(_summary)


def _tell_of_lacking(clients: list[ClientSpec], names: tuple[str, ...], strict: bool) -> None:
    """Say which clients stay stock for want of the native backend, if they matter here."""
    stock = dict.fromkeys(
        client.distribution for client in clients if client.name in names or client.is_imported()
    )
    if stock:
        message = (
            f"lazyentity: without the native backend, these stay stock: {', '.join(stock)}; "
            f"{obstacle()}"
        )
        if strict and names:
            raise RuntimeError(message)
        _warn_once(message)


def _import_lazy_class() -> None:
    """Import the class of lazy entities while no lock is held: that installs the adapters.

    Not before the client that it derives from.
    """
    if "google.cloud.datastore" in sys.modules:
        # Patching a client needs the class, and tells if it cannot be imported.
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module("lazyentity.entity")


def _import(client: ClientSpec, strict: bool) -> bool:
    """Import a client; return whether it is there."""
    if not _import_of(client).is_installed():
        return False
    try:
        importlib.import_module(client.waits_for_import)
        client.import_needed()
    except Exception as error:  # noqa: BLE001  # a client that raises is not there
        if strict:
            _refuse(client, client.failure(error), strict)
        return False
    return True


def _await(client: ClientSpec, *, strict: bool, is_named: bool) -> None:
    if not _import_of(client).is_installed():
        if is_named:
            _refuse(client, f"{client.distribution} is not installed", strict)
    elif (problem := client.problem()) is not None:
        _refuse(client, problem, strict)
    else:
        _import_of(client).wait()


def _patch_imported(client: ClientSpec, strict: bool) -> None:
    """Patch a client, or refuse to."""
    if client.patch.active:
        return
    replaced: list[str] = []
    problem = client.problem()
    if problem is None:
        try:
            replaced = client.replaced_names()
            if replaced and strict:
                problem = replaced[0]
            else:
                client.patch.apply()
                CLIENT_PACKAGES.add(client.waits_for_import.partition(".")[0])
        except Exception as error:  # noqa: BLE001  # a later version may differ in any way
            problem = client.failure(error)
    if problem is not None:
        _refuse(client, problem, strict)
        return
    for one in replaced:
        _warn_once(f"lazyentity: {one}, which stays in charge; calls that need it are not lazy")


def _refuse(client: ClientSpec, problem: str, strict: bool) -> None:
    message = f"lazyentity: {problem}; it is not patched, nor is any client that is built on it"
    if strict:
        raise RuntimeError(message)
    for other in _selected(()):
        if other is client or client in other.underneath:
            _import_of(other).cancel()
    _warn_once(message)


def _warn_once(message: str) -> None:
    if message not in _told:
        _told.add(message)
        notices.warn(message)


def unpatch(*names: ClientName) -> None:
    """Undo :func:`patch`. Clients and entities that you got in the meantime keep working.

    >>> import lazyentity
    >>> lazyentity.patch("datastore")
    >>> lazyentity.unpatch()
    >>> lazyentity.patched()
    ()

    The functions of adapted libraries are restored once no client is patched. A wrapper that
    another library put around a replacement stays, and calls the original.

    Args:
        names: which clients; without a name, all of them.

    Raises:
        ValueError: if a name is not known.
    """
    with _lock:
        for client in _selected(names):
            _import_of(client).cancel()
            client.patch.revert()
        if not patched():
            adapters.remove()
            notices.waiting.clear()


def is_awaited(client: ClientSpec) -> bool:
    """Return whether a client, or a part of a client, will be patched when it is imported."""
    return _import_of(client).awaited


def patched() -> tuple[ClientName, ...]:
    """Return the names of the clients that are patched, or will be as soon as they are imported.

    >>> import lazyentity
    >>> lazyentity.patch("datastore")
    >>> lazyentity.patched()
    ('datastore',)

    Clients that are known to be unsupported, and those that are built on them, are left out.
    """
    names = (name for name, client in CLIENTS.items() if client.patch.active or is_awaited(client))
    return cast(tuple[ClientName, ...], tuple(names))


def _summary() -> str:
    """Return the clients with their versions and the backend in one line.

    If the pure backend serves, the line says why, and how to get the native one.
    """
    slower = obstacle()
    note = f", which is slower ({slower})" if slower else ""
    states = ", ".join(map(_state_of, CLIENTS.values()))
    return f"lazyentity {__version__}, {expected_backend()} backend{note}: {states}"


def _state_of(client: ClientSpec) -> str:
    if client.patch.active:
        state = "is patched"
    elif is_awaited(client):
        state = "is patched when it is imported"
    elif client.lacks_native():
        state = "needs the native backend"
    else:
        state = "stays stock"
    version = client.version()
    return f"{client.distribution} {version} {state}" if version else f"no {client.distribution}"
