"""Adapters: libraries of C code get decoded entities.

C code that bypasses dict methods sees a sentinel for unread properties. An adapter replaces the
entry points of a library by functions that decode the entities among their arguments in place,
and then call the original.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.machinery import BuiltinImporter, ExtensionFileLoader
from pathlib import Path

from lazyentity._environment import ADAPTERS, is_off
from lazyentity.codec.describing import safe_str
from lazyentity.patches import wrapping
from lazyentity.patches.adapters.libraries import LIBRARIES, Library
from lazyentity.patches.imports import WhenImported
from lazyentity.patches.locks import ForkableLock
from lazyentity.patches.notices import warn
from lazyentity.patches.registry import Patch, modules_holding_any
from lazyentity.patches.spec import is_supported

_lock = ForkableLock()


class _Adapter:
    """The adapter of a library. Each module is adapted after its import."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._patches: dict[str, Patch] = {}
        self._imports = [_ModuleImport(self, module) for module in library.modules]
        self._is_checked = False
        self._problem: str | None = None

    def install(self) -> None:
        """Adapt imported modules now, and the others when they are imported."""
        for awaited in self._imports:
            awaited.wait()

    def old_references(self) -> dict[int, str]:
        """Return the ids and names of the originals that were replaced as attributes of modules."""
        # Methods need no search, nor functions that were replaced in place: they are one object.
        return {
            id(seam.original): str(seam)
            for patch in self._patches.values()
            if patch.active
            for seam in patch.seams
            if "." not in seam.path and seam.is_installed()
        }

    def is_part(self, module: str) -> bool:
        """Say whether a module belongs to the library itself, which calls its own functions."""
        return module.partition(".")[0] in self.packages()

    def packages(self) -> set[str]:
        """Return the names of the packages of the library."""
        return {name.partition(".")[0] for name in self._library.modules}

    def remove(self) -> None:
        """Restore the original functions, and adapt no module that is imported later."""
        for awaited in self._imports:
            awaited.cancel()
        for patch in self._patches.values():
            patch.revert()

    def load(self) -> None:
        """Import the adapter with its imports; :meth:`adapt` reports its errors."""
        if self._library.adapter is not None:
            with contextlib.suppress(AttributeError, ImportError):
                importlib.import_module(f"{__name__}.{self._library.adapter}")

    def adapt(self, module: str) -> None:
        """Replace the functions of an imported module."""
        if self._problem is not None or not self._is_library(module):
            return
        try:
            if module not in self._patches and self._library.adapter is not None:
                adapter = importlib.import_module(f"{__name__}.{self._library.adapter}")
                self._patches[module] = Patch([s for s in adapter.SEAMS if s.module == module])
            if module in self._patches:
                self._patches[module].apply()
        except (AttributeError, ImportError) as error:
            # A partly installed adapter would miss calls.
            self._problem = safe_str(error)
            self.remove()
        if not self._is_checked or self._problem is not None:
            self._is_checked = True
            self._check()

    def _is_library(self, module: str) -> bool:
        """Say whether a module is of the library, and not one of the application of that name."""
        if self._library.distribution is None:
            return True
        try:
            installed = metadata.distribution(self._library.distribution)
        except metadata.PackageNotFoundError:
            return False
        root = sys.modules[module.partition(".")[0]]
        # A namespace package has no file. The path of an archive is no Path.
        file = Path(getattr(root, "__file__", None) or next(iter(root.__path__), ""))
        folder = Path(str(installed.locate_file(""))).absolute()
        is_editable = "editable" in (installed.read_text("direct_url.json") or "")
        return is_editable or file.absolute().is_relative_to(folder)

    def _check(self) -> None:
        """Warn of a version that was not tested with the adapter, or that does not fit it."""
        name, tested = self._library.distribution, self._library.tested
        if name is None:
            return
        version = metadata.version(name)
        if self._problem is not None:
            warn(
                f"lazyentity: {name} {version} cannot be adapted ({self._problem}; tested: "
                f"{tested}), and sees a sentinel for unread properties; "
                "give it lazyentity.materialize(entity)"
            )
        elif not is_supported(version, tested):
            warn(
                f"lazyentity: {name} {version} is not among the versions that its adapter was "
                f"tested with ({tested}): it is adapted all the same; "
                "give it lazyentity.materialize(entity) if in doubt"
            )


class _ModuleImport(WhenImported):
    def __init__(self, adapter: _Adapter, module: str) -> None:
        super().__init__(module, self._adapt)
        self.module = module
        self._adapter = adapter

    def _adapt(self) -> None:
        # Without the lock: the import can wait for another thread, which may wait for the lock.
        self._adapter.load()
        with _lock:
            self._adapter.adapt(self.module)


_adapters = tuple(_Adapter(library) for library in LIBRARIES)
_are_installed = False


def install() -> None:
    """Adapt every library of the list, now or when it is imported.

    Waits for imports in other threads, so the caller must hold no lock. Does nothing if the
    adapters are installed already, or if the environment variable ``LAZYENTITY_ADAPTERS`` is ``0``,
    ``false``, ``no`` or ``off``.
    """
    global _are_installed
    if _are_installed or is_off(ADAPTERS) or wrapping.missing() is not None:
        return
    _are_installed = True
    # Without the lock, because this waits for imports in other threads.
    for adapter in _adapters:
        adapter.install()
    with _lock:
        _warn_of_old_references()


_OF_LAZY_CLASSES = ("lazyentity.entity", "lazyentity.storage.lazyvaluedict")
"""The modules that every class of lazy objects comes from."""


def remove_unneeded() -> None:
    """Remove the adapters, unless a module of lazy classes is loaded: its objects may be alive."""
    if not any(module in sys.modules for module in _OF_LAZY_CLASSES):
        remove()


def remove() -> None:
    """Restore the functions that the adapters replaced."""
    global _are_installed
    with _lock:
        _are_installed = False
        for adapter in _adapters:
            adapter.remove()


def _warn_of_old_references() -> None:
    for what, others in old_references():
        warn(
            f"lazyentity: patched too late for these, which {what} before: "
            f"{', '.join(others)}; their calls do not decode lazy entities. Import them after "
            "patch()"
        )


def old_references() -> Iterator[tuple[str, list[str]]]:
    """Find the modules, and objects in them, that use an original past its replacement.

    Yields:
        The end of a sentence that says how they use it, and their dotted names.
    """
    replaced = {key: adapter for adapter in _adapters for key in adapter.old_references()}
    for key, holders in modules_holding_any(replaced).items():
        adapter = replaced[key]
        others = [name for name in holders if not (adapter.is_part(name) or _is_compiled(name))]
        if others:
            yield f"imported {adapter.old_references()[key]} by name", others
    if not replaced:
        return
    from lazyentity.patches.adapters.holders import objects_holding

    # The adapted libraries hold functions of each other, and are adapted themselves.
    skipped = {__name__.partition(".")[0]}.union(*(adapter.packages() for adapter in _adapters))
    for key, names in objects_holding(replaced, skipped).items():
        function = replaced[key].old_references()[key]
        yield f"kept {function} in a class, a default argument or a functools.partial", names


def _is_compiled(module: str) -> bool:
    """Say whether a module is C code, which does not call functions through its namespace."""
    loader = getattr(sys.modules[module], "__loader__", None)
    # The program of `python -c` has the loader of built-in modules.
    return module != "__main__" and (
        isinstance(loader, ExtensionFileLoader) or loader is BuiltinImporter
    )
