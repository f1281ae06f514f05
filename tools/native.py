"""The sources of the native backend, and whether the compiled modules are of these sources."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from tools.clients import CHECKOUT, constant


def sources() -> list[Path]:
    """Return the files that the compiled modules depend on."""
    folder = CHECKOUT / "lazyentity" / "native"
    building = [CHECKOUT / "setup.py", CHECKOUT / "tools" / "building.py"]
    return sorted([*folder.glob("*.pyx"), *folder.glob("*.pxd"), *building])


def compiled() -> list[Path]:
    """Return the paths of the modules compiled in the checkout for this Python, there or not."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    names = constant("lazyentity/_environment.py", "NATIVE_MODULES")
    return [CHECKOUT / f"{name.replace('.', '/')}{suffix}" for name in names]


def is_current() -> bool:
    """Whether every module was compiled after the last change of a source."""
    modules = compiled()
    if not all(module.exists() for module in modules):
        return False
    newest = max(source.stat().st_mtime for source in sources())
    return newest <= min(module.stat().st_mtime for module in modules)


def is_stale() -> bool:
    """Whether a module was compiled, and a source changed since. Nothing compiled is not stale."""
    return any(module.exists() for module in compiled()) and not is_current()
