"""Patch before the program of this interpreter starts, then import the next ``sitecustomize``.

Interpreters that ``lazyentity-run`` starts import this module from their ``PYTHONPATH``, and so do
their child processes. If it fails, the module ``site`` prints the error, and the program starts.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

_OWN = str(Path(__file__).parent)


def _patch() -> None:
    try:
        import lazyentity.auto  # noqa: F401  # patches
    except ModuleNotFoundError as error:
        # Another interpreter than that of lazyentity, with other packages.
        if error.name != "lazyentity":
            raise
        sys.stderr.write(
            f"lazyentity: it is not installed for {sys.executable}, where nothing is patched\n"
        )


class _Forgotten:
    """Finds wrapt, which patching imported, for those who import it again.

    Patching comes before the folder of the program is in ``sys.path``. A module ``wrapt`` of the
    program would be hidden by the library. So the library leaves ``sys.modules``, and comes back if
    the program imports the same file.
    """

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        module = self._modules.get(name)
        if module is None or path is not None:
            return None
        spec, found = module.__spec__, PathFinder.find_spec(name)
        if spec is None or found is None or found.origin != spec.origin:
            return None
        inside = f"{name}."
        for each in [each for each in self._modules if each.startswith(inside)]:
            sys.modules.setdefault(each, self._modules[each])
        return ModuleSpec(name, self, origin=spec.origin)  # type: ignore[arg-type]  # as used

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._spec = self._modules[spec.name].__spec__
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        # Importing it set another one.
        module.__spec__ = self._spec


def _forget(before: set[str]) -> None:
    """Take wrapt and the packages around clients, if they are new, out of ``sys.modules``."""
    new = sorted(set(sys.modules) - before)
    library = {name: sys.modules.pop(name) for name in new if name.partition(".")[0] == "wrapt"}
    if library:
        sys.meta_path.insert(0, _Forgotten(library))
    for name in reversed(new):
        # Looking for a client imports the namespace packages around it, which have no file.
        if (
            getattr(sys.modules.get(name), "__path__", None) is not None
            and getattr(sys.modules[name], "__file__", None) is None
            and not any(each.startswith(f"{name}.") for each in sys.modules)
        ):
            del sys.modules[name]


def _import_next() -> None:
    """Import the ``sitecustomize`` that this one hides, under that name, if there is one."""
    others = [folder for folder in sys.path if folder != _OWN]
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    # The next one may do the same, and would find this one again.
    sys.path[:] = others
    try:
        spec.loader.exec_module(module)
    finally:
        # Programs pass sys.path to their children.
        sys.path.insert(0, _OWN)


_before = set(sys.modules)
try:
    _patch()
    _forget(_before)
finally:
    _import_next()
