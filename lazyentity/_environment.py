"""Switches in the environment."""

from __future__ import annotations

import os
from typing import Final

DISABLE: Final = "LAZYENTITY_DISABLE"
"""Patch nothing."""
EAGER: Final = "LAZYENTITY_EAGER"
"""Return stock entities unless the caller passes ``eager=False``."""
ADAPTERS: Final = "LAZYENTITY_ADAPTERS"
"""Adapt libraries of C code; on by default."""
PROFILE_PROCESS: Final = "LAZYENTITY_PROFILE_PROCESS"
"""Set by lazyentity itself: the first process of a profiled program."""
PROFILE: Final = "LAZYENTITY_PROFILE"
"""Report at exit what was received and decoded: on, or the path of a file."""

_OFF = frozenset(("0", "false", "no", "off"))


def _word(name: str) -> str:
    return os.environ.get(name, "").strip().lower()


def is_set(name: str) -> bool:
    """Say whether a switch is set to anything but ``0``, ``false``, ``no`` or ``off``."""
    return _word(name) not in _OFF | {""}


def is_off(name: str) -> bool:
    """Say whether a switch is set to ``0``, ``false``, ``no`` or ``off``."""
    return _word(name) in _OFF


def is_disabled() -> bool:
    """Say whether :data:`DISABLE` is set, and log that it is."""
    if not is_set(DISABLE):
        return False
    # Here, for this process need not log anything.
    import logging

    logging.getLogger("lazyentity").warning(
        "%s is set: reads stay as they are, nothing is patched", DISABLE
    )
    return True
