"""Figures that need a process of their own: its memory."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec


def measure(
    module: str, sides: Iterable[str], rounds: int, *arguments: object
) -> dict[str, list[float]]:
    """Run ``python -m module SIDE ARGUMENTS...``, which prints one number, in rounds of all sides.

    Returns:
        The numbers by side, one for each round.

    Raises:
        subprocess.CalledProcessError: a process failed; its own error is on stderr.
    """
    numbers: dict[str, list[float]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, printed in numbers.items():
            command = [sys.executable, "-m", module, side, *map(str, arguments)]
            # A session of its own: Ctrl-C in the terminal would make the child print a
            # traceback. This process kills it.
            child = subprocess.run(
                command, check=True, stdout=subprocess.PIPE, start_new_session=True
            )
            printed.append(msgspec.json.decode(child.stdout, type=float))
    return numbers


def peak_of_process() -> int:
    """Return the peak of this process's resident memory, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage(): Linux starts its peak with that of the process that started this one.
        (peak,) = re.findall(r"^VmHWM:\s*(\d+) kB$", status.read_text(), re.MULTILINE)
        return int(peak) * 1024
    # macOS counts in bytes, others in kibibytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
