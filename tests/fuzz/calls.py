"""Hostile calls into the native modules: no call may end the process, or break CPython's rules.

A child process makes thousands of calls. If it dies, the case that it died of is run alone.

    python -m tests.fuzz.calls --seconds 60
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import click

from tests.fuzz import running

_CASES_OF_CHILD = 2000
_TIMEOUT = 300
_MOST_FINDINGS = 5


@dataclass(frozen=True)
class End:
    """The end of a process.

    Attributes:
        status: as of ``subprocess``; None if it hung.
        case: the case that was running.
        output: the text that it printed.
    """

    status: int | None
    case: int
    output: str

    def __str__(self) -> str:
        if self.status is None:
            return "hangs"
        if self.status < 0:
            return f"is killed by {signal.Signals(-self.status).name}"
        return f"ends with {self.status}"


def _run(seed: int, first: int, count: int, *options: str) -> End:
    with tempfile.NamedTemporaryFile() as progress:
        progress.write(first.to_bytes(8, "little"))
        progress.flush()
        command = [sys.executable, "-m", "tests.fuzz.calls_child", "--progress", progress.name]
        command += ["--seed", str(seed), "--first", str(first), "--count", str(count), *options]
        try:
            done = subprocess.run(  # this interpreter
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=_TIMEOUT,
                errors="replace",
                check=False,
            )
            status, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            status, output = None, str(error.output)
        return End(status, int.from_bytes(Path(progress.name).read_bytes()[:8], "little"), output)


@click.command()
@running.options
def main(seconds: float, seed: int, case: int | None, first: int) -> None:
    """Fuzz with hostile calls."""
    if case is not None:
        end = _run(seed, case, 1, "--explain")
        click.echo(f"{end.output}\ncase {case} {end}")
        raise SystemExit(end.status != 0)
    until = time.monotonic() + seconds
    number = first
    findings = 0
    while findings < _MOST_FINDINGS and (number == first or time.monotonic() < until):
        end = _run(seed, number, _CASES_OF_CHILD)
        if end.status == 0:
            number += _CASES_OF_CHILD
            continue
        findings += 1
        alone = _run(seed, end.case, 1, "--explain")
        # Alone, a case can pass that needs the cases before it.
        count = 1 if alone.status != 0 else end.case - number + 1
        program = "python -m tests.fuzz.calls_child --explain --progress $(mktemp)"
        click.echo(
            f"--- case {end.case} {end}; to reproduce:\n"
            f"{program} --seed {seed} --first {end.case - count + 1} --count {count}\n"
            f"{running.shortened((end if count > 1 else alone).output)}\n"
        )
        number = end.case + 1
    click.echo(
        f"python -m tests.fuzz.calls: seed {seed}, {number - first} cases, {findings} findings"
    )
    if findings:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
