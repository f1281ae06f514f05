"""Patch before the program of this interpreter starts, then import the next ``sitecustomize``.

Interpreters that ``lazyentity-run`` starts import this module from their ``PYTHONPATH``, and so do
their child processes. If it fails, the module ``site`` prints the error, and the program starts.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

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


def _forget_namespaces(before: set[str]) -> None:
    """Take the namespace packages that are new out of ``sys.modules``.

    Looking for a client imports the packages around it, such as ``gcloud``. The program may have a
    module of that name, and its folder is not in ``sys.path`` yet.
    """
    for name in sorted(set(sys.modules) - before, reverse=True):
        module = sys.modules[name]
        is_namespace = hasattr(module, "__path__") and getattr(module, "__file__", None) is None
        if is_namespace and not any(each.startswith(f"{name}.") for each in sys.modules):
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
    _forget_namespaces(_before)
finally:
    _import_next()
