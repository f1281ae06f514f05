"""Runs commands side by side on the available cores, and prints each output as a whole.

nox, tox, doit, make and ninja do so, too. If a command fails, they let the others end, which takes
up to ten minutes here, and none gives commands of less urgency the time that others leave.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO


@dataclass(frozen=True)
class Step:
    """A command.

    Attributes:
        name: the purpose of the step; no other step has the same name.
        command: the executable and its arguments.
        needs: names of the steps that must have passed before.
        environment: variables that are set for it beside the inherited ones.
        cores: how many cores the step gets. With 0 it runs beside the other steps, at a
            lower priority.
    """

    name: str
    command: Sequence[str]
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cores: int = 1


@dataclass(frozen=True)
class Outcome:
    """The end of a step; times are in seconds."""

    step: Step
    status: int
    started: float
    wall: float
    processor: float
    log: IO[bytes]


class Runner:
    """Runs steps, and remembers their outcomes.

    Args:
        cores: how many cores there are for the steps.
        beside: how many steps run beside these.
    """

    def __init__(self, cores: int, beside: int = 2) -> None:
        self._cores, self._free, self._beside = cores, cores, beside
        self._began = time.monotonic()
        self._ended: queue.Queue[Outcome] = queue.Queue()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._outcomes: list[Outcome] = []

    def run(self, steps: Sequence[Step]) -> None:
        """Run the steps: in order, but each once the steps it needs have passed and cores are free.

        Raises:
            SystemExit: a step failed. No further step was started; running steps were stopped.
        """
        pending = list(steps)
        try:
            self._start(pending)
            while self._running:
                self._end(self._ended.get())
                self._start(pending)
        finally:
            for process in self._running.values():
                os.killpg(process.pid, signal.SIGTERM)
            while self._running:
                ended = self._ended.get()
                del self._running[ended.step.name]
                ended.log.close()
        if pending:
            waiting = ", ".join(step.name for step in pending)
            raise SystemExit(f"these steps need missing steps: {waiting}")

    def summary(self) -> str:
        """Return a table of the steps that have ended."""
        lines = [f"{'seconds':>8} {'of CPU':>8} {'began at':>9}  step"]
        lines += [
            f"{ended.wall:8.0f} {ended.processor:8.0f} {ended.started:9.0f}  {ended.step.name}"
            for ended in sorted(self._outcomes, key=lambda ended: ended.started)
        ]
        processor = sum(ended.processor for ended in self._outcomes)
        wall = time.monotonic() - self._began
        return "\n".join([*lines, f"{wall:8.0f} {processor:8.0f} {'':9}  in all"])

    def _start(self, pending: list[Step]) -> None:
        passed = {ended.step.name for ended in self._outcomes}
        for step in list(pending):
            # A step that asks for more cores than there are gets all cores.
            fits = min(step.cores, self._cores) <= self._free if step.cores else self._beside > 0
            if fits and passed.issuperset(step.needs):
                pending.remove(step)
                self._take(step, 1)
                self._launch(step)

    def _take(self, step: Step, sign: int) -> None:
        """Take the place of a step, or give it back with a negative sign."""
        self._free -= sign * min(step.cores, self._cores)
        self._beside -= sign * (step.cores == 0)

    def _launch(self, step: Step) -> None:
        started = time.monotonic()
        print(f"--- {started - self._began:.0f} s: began: {step.name}", flush=True)
        log = tempfile.TemporaryFile()  # noqa: SIM115  # outlives this call, in the outcome
        process = subprocess.Popen(
            [*(("nice", "-n", "5") if step.cores == 0 else ()), *step.command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **step.environment},
            start_new_session=True,  # so that it can be stopped with its children
        )
        self._running[step.name] = process

        def wait() -> None:
            # Unlike Popen.wait(), this tells the time of this process and of its children.
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            wall, processor = time.monotonic() - started, used.ru_utime + used.ru_stime
            began = started - self._began
            self._ended.put(Outcome(step, process.returncode, began, wall, processor, log))

        threading.Thread(target=wait, daemon=True).start()

    def _end(self, ended: Outcome) -> None:
        del self._running[ended.step.name]
        self._take(ended.step, -1)
        self._outcomes.append(ended)
        state = "passed" if ended.status == 0 else f"FAILED with status {ended.status}"
        print(f"\n=== {ended.step.name}: {state} in {ended.wall:.0f} s", flush=True)
        ended.log.seek(0)
        print(ended.log.read().decode(errors="replace"), flush=True)
        ended.log.close()
        if ended.status:
            raise SystemExit(f"{self.summary()}\n\n{ended.step.name}: {state}; its output is above")
