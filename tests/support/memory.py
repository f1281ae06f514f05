"""The memory of this process."""

from __future__ import annotations

from pathlib import Path

import psutil

_ROLLUP = Path("/proc/self/smaps_rollup")


def pages(*kinds: str) -> int:
    """Return the bytes of this process in pages of some kinds; resident bytes where Linux is not.

    Linux estimates the resident size itself, with an error that grows with the processors that a
    process ran on, and takes pages away while other processes need memory: see proc(5).

    Args:
        kinds: fields of ``/proc/self/smaps_rollup``, which counts the pages: ``"Rss"``, ``"Swap"``,
            or ``"Anonymous"`` for memory that is no file's.
    """
    if not _ROLLUP.exists():
        resident: int = psutil.Process().memory_info().rss
        return resident
    lines = (line.split() for line in _ROLLUP.read_text().splitlines()[1:])
    kibibytes = {name.removesuffix(":"): int(size) for name, size, *_ in lines}
    return 1024 * sum(kibibytes[kind] for kind in kinds)
