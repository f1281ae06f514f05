"""The environment variables that count."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from typing import Final

from lazyentity._choice import REQUEST
from lazyentity._environment import (
    ADAPTERS,
    DISABLE,
    EAGER,
    PROFILE,
    PROFILE_PROCESS,
    is_off,
    is_set,
)
from lazyentity.cli.doctor.findings import NOTE, Finding
from lazyentity.cli.run import BOOTSTRAP, PATH, SCRIPT

EMULATOR: Final = "DATASTORE_EMULATOR_HOST"
KNOWN: Final = (ADAPTERS, REQUEST, DISABLE, EAGER, PROFILE)
"""The variables of lazyentity."""

_PREFIX = "LAZYENTITY_"


def findings() -> Iterator[Finding]:
    """Find the variables that are set, and misspelt ones."""
    found = [*_known(), *_unknown()]
    yield from found
    if not found:
        yield Finding(
            "variables",
            f"none of {', '.join(KNOWN)} is set",
            brief=f"none of the {len(KNOWN)} of lazyentity is set",
        )
    emulator = os.environ.get(EMULATOR)
    if emulator:
        yield Finding(EMULATOR, f"clients read from {emulator}")
    elif emulator is not None:
        yield Finding(EMULATOR, "is empty: clients read from no server", NOTE, f"unset {EMULATOR}")
    if BOOTSTRAP in os.environ.get(PATH, "").split(os.pathsep):
        yield Finding(PATH, f"interpreters patch before they start, by {SCRIPT}")


def _known() -> Iterator[Finding]:
    if is_set(DISABLE):
        yield Finding(DISABLE, "patch() does nothing", NOTE, f"unset {DISABLE} to patch")
    if is_set(EAGER):
        yield Finding(
            EAGER,
            "reads return stock entities, decoded faster",
            NOTE,
            f"unset {EAGER} for lazy entities",
        )
    if is_off(ADAPTERS):
        yield Finding(
            ADAPTERS,
            "C code that bypasses dict methods sees a sentinel for unread properties",
            NOTE,
            f"unset {ADAPTERS}, or give such libraries lazyentity.materialize(entity)",
        )
    if os.environ.get(REQUEST):
        yield Finding(REQUEST, f"requires the backend {os.environ[REQUEST]!r}")
    if is_set(PROFILE):
        yield Finding(
            PROFILE, "reads are counted, which takes time", NOTE, f"unset {PROFILE} in production"
        )


def _unknown() -> Iterator[Finding]:
    for name in sorted(os.environ):
        if name.startswith(_PREFIX) and name not in (*KNOWN, PROFILE_PROCESS):
            words = [known.removeprefix(_PREFIX) for known in KNOWN]
            similar = difflib.get_close_matches(name.removeprefix(_PREFIX), words, n=1)
            meant = f"{_PREFIX}{similar[0]}?" if similar else f"known are {', '.join(KNOWN)}"
            yield Finding(name, "is no variable of lazyentity, and does nothing", NOTE, meant)
