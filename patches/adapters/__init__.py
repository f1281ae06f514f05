"""Adapters: libraries of C code get decoded entities.

C code that bypasses dict methods sees a sentinel for unread properties. An adapter replaces names
of a library by callables that decode the entities among their arguments in place, and then call
the original. Nothing but attributes of modules and classes is replaced, and :func:`remove` puts
them back.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator, Sequence
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from lazyentity._environment import ADAPTERS, is_off
from lazyentity.codec.describing import safe_str
from lazyentity.patches.adapters.table import LIBRARIES, Library
from lazyentity.patches.imports import problem_with_wrapt
from lazyentity.patches.notices import warn
from lazyentity.patches.registry import ForkableLock, Patch, Seam, namespaces
from lazyentity.patches.spec import is_supported

_lock = ForkableLock()


class _Adapter:
    """The adapter of a module of a library."""

    def __init__(self, library: Library, module: str) -> None:
        self._library = library
        self._module = module
        self._patch = Patch([Seam(module, path, self._adapted) for path in library.names[module]])

    def _adapted(self, original: Any, is_active: Any) -> Any:
        # wrapt is imported when something is adapted, and not before.
        from lazyentity.patches.adapters.adapted import adapted

        return adapted(original, is_active, self._library.prepare)

    def apply(self) -> None:
        """Replace the names of the imported module, anew if it was imported once more."""
        name = self._library.distribution
        root = sys.modules.get(self._module.partition(".")[0])
        # A namespace package has no file, and a stub of the application has neither.
        file = getattr(root, "__file__", None) or next(iter(getattr(root, "__path__", ())), None)
        version = _version(name, file) if isinstance(file, str) else None
        if version is None:
            return
        self._patch.revert()
        try:
            self._patch.apply()
        except (AttributeError, ImportError) as error:
            warn(
                f"lazyentity: {name} {version} cannot be adapted ({safe_str(error)}; tested: "
                f"{self._library.tested}), and sees a sentinel for unread properties; "
                "give it lazyentity.materialize(entity)"
            )
            return
        if not is_supported(version, self._library.tested):
            warn(
                f"lazyentity: {name} {version} is not among the versions that its adapter was "
                f"tested with ({self._library.tested}): it is adapted all the same; "
                "give it lazyentity.materialize(entity) if in doubt"
            )

    def revert(self) -> None:
        """Put the originals back."""
        self._patch.revert()

    def replaced(self) -> Iterator[tuple[str, Any, Any]]:
        """Yield the name, the original and the replacement of each name that is replaced."""
        for seam in self._patch.seams:
            if seam.is_installed():
                yield str(seam), seam.original, seam.replacement


@functools.cache  # it takes longer than all the rest of patching
def _version(distribution: str, file: str) -> str | None:
    """Return the version of a library; None if a file is of a module of the application."""
    try:
        installed = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return None
    # The path of an archive is no Path.
    folder = Path(str(installed.locate_file(""))).absolute()
    is_editable = "editable" in (installed.read_text("direct_url.json") or "")
    is_own = is_editable or Path(file).absolute().is_relative_to(folder)
    return installed.version if is_own else None


_adapters = {module: _Adapter(library, module) for library in LIBRARIES for module in library.names}
_are_installed = False


class _Imports:
    """A finder that has modules adapted each time that they are executed.

    Also when they are reloaded, or imported again after they were taken out of ``sys.modules``.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As of every finder: the spec that the other finders have."""
        if name not in _adapters:
            return None
        for finder in sys.meta_path:
            if finder is not self:
                spec = finder.find_spec(name, path, target)
                if spec is not None:
                    _adapt_when_executed(spec.loader)
                    return spec
        return None


def _adapt_when_executed(loader: Any) -> None:
    # A finder of somebody else may have asked this one, and have put a proxy around the loader.
    execute = getattr(loader, "exec_module", None)
    if execute is None or isinstance(loader, type) or hasattr(loader, "_lazyentity_adapts"):
        return

    def exec_module(module: ModuleType) -> None:
        execute(module)
        _adapt(module.__name__)

    loader.exec_module = exec_module
    loader._lazyentity_adapts = True


_imports = _Imports()


def _adapt(module: str) -> None:
    with _lock:
        if _are_installed and module in _adapters:
            _adapters[module].apply()


def install() -> None:
    """Adapt every library of the table, now or when it is imported.

    Waits for imports in other threads, so the caller must hold no lock. Does nothing if the
    adapters are installed already, or if the environment variable ``LAZYENTITY_ADAPTERS`` is ``0``,
    ``false``, ``no`` or ``off``.
    """
    global _are_installed
    if _are_installed or is_off(ADAPTERS) or problem_with_wrapt() is not None:
        return
    from lazyentity.patches.adapters import contents

    _are_installed = True
    sys.meta_path.insert(0, _imports)
    contents.register()
    for module in _adapters:
        if module in sys.modules:
            # Another thread may still be importing it.
            importlib.import_module(module)
            _adapt(module)
    with _lock:
        _rebind({id(original): (original, made) for _, original, made in _replaced()})


def remove() -> None:
    """Put back every name that the adapters replaced."""
    global _are_installed
    with _lock:
        _are_installed = False
        if _imports in sys.meta_path:
            sys.meta_path.remove(_imports)
        replaced = list(_replaced())
        for adapter in _adapters.values():
            adapter.revert()
        _rebind({id(made): (made, original) for _, original, made in replaced})


def _replaced() -> list[tuple[str, Any, Any]]:
    return [each for adapter in _adapters.values() for each in adapter.replaced()]


def _rebind(functions: dict[int, tuple[Any, Any]]) -> None:
    """Exchange functions wherever they are globals of a loaded module.

    Args:
        functions: by the id of each, itself and the one to put in its place.
    """
    for _, namespace in namespaces() if functions else ():
        # Hardly any module holds one: a loop in C rules the others out.
        if not functions.keys().isdisjoint(map(id, list(namespace.values()))):
            for name, value in list(namespace.items()):
                if id(value) in functions:
                    namespace[name] = functions[id(value)][1]


def unbound_references() -> Iterator[tuple[str, str]]:
    """Find objects that hold an original, and so call it past its adapter.

    Looked into are the classes, functions and ``functools.partial`` objects of loaded modules:
    attributes of a class, default arguments, and the arguments of a partial.

    Yields:
        The dotted names of the object and of the original.
    """
    originals = {id(original): name for name, original, _ in _replaced()}
    packages = {module.partition(".")[0] for module in _adapters}
    for module, namespace in namespaces() if originals else ():
        if module.partition(".")[0] in packages:
            continue
        for name, value in list(namespace.items()):
            for held in _held_by(value, module):
                if id(held) in originals:
                    yield f"{module}.{name}", originals[id(held)]


def _held_by(value: Any, module: str) -> list[Any]:
    # By the type: an object may pass for one of another class.
    if type(value) is functools.partial:
        return [value.func, *value.args, *value.keywords.values()]
    if type(value) is FunctionType:
        return [*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if issubclass(type(value), type):
        # vars() would call a metaclass, which is code of the application.
        attributes = type.__dict__["__dict__"].__get__(value)
        # A class that was imported is found where it was made.
        if attributes.get("__module__") == module:
            held = [getattr(each, "__func__", each) for each in list(attributes.values())]
            return held + [inner for each in held for inner in _held_by(each, "")]
    return []
