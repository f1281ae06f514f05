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


try:
    _patch()
finally:
    _import_next()
