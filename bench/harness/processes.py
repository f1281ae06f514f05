"""Figures that need their own process, its memory for one, and servers that are processes.

``python -m lazyentity.bench.harness.processes MODULE FUNCTION ARGUMENTS`` is such a process: it
calls the function with the arguments, a list in JSON, and prints what it returns.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec


def call(function: Callable[..., Any], *arguments: Any, **environment: str) -> bytes:
    """Call a function of a module in a separate process; returns its result as JSON.

    Args:
        function: of a module.
        arguments: its arguments, which JSON can hold.
        environment: variables of the process, added to the current environment.

    Raises:
        subprocess.CalledProcessError: the process failed; its own error is on stderr.
    """
    given = msgspec.json.encode(arguments).decode()
    command = [sys.executable, "-m", __name__, function.__module__, function.__name__, given]
    # A separate session: Ctrl-C in the terminal would make the child print a traceback. This
    # process kills it.
    child = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | environment,
    )
    return child.stdout


def measure(
    function: Callable[..., float], firsts: Iterable[Any], rounds: int, *arguments: Any
) -> dict[Any, list[float]]:
    """Call a function of a module in separate processes, in rounds of all its first arguments.

    Args:
        function: gives a number, of its process.
        firsts: its first arguments, a side each time, for one.
        rounds: how often each of them is measured.
        arguments: the others.

    Returns:
        The numbers by the first argument, one for each round.

    Raises:
        subprocess.CalledProcessError: a process failed; its own error is on stderr.
    """
    numbers: dict[Any, list[float]] = {first: [] for first in firsts}
    for _ in range(rounds):
        for first, printed in numbers.items():
            printed.append(msgspec.json.decode(call(function, first, *arguments), type=float))
    return numbers


@contextlib.contextmanager
def serving(module: str, *arguments: str) -> Iterator[int]:
    """Run a module that prints the port on which it serves; gives the port.

    Its standard input is closed when this process dies in any way.
    """
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert child.stdout is not None
        yield int(child.stdout.readline())
    finally:
        child.kill()
        child.communicate()


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


def _answer(module: str, function: str, arguments: str) -> None:
    result = getattr(importlib.import_module(module), function)(*msgspec.json.decode(arguments))
    click.echo(msgspec.json.encode(result))


if __name__ == "__main__":
    _answer(*sys.argv[1:])
