"""The loop of the fuzzers that need no sanitizers: cases by number, for some seconds of time."""

from __future__ import annotations

import random
import re
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

import lazyentity

_MOST_FINDINGS = 10
_LONGEST = 3000
_CASES_OF_ROUND = 50
_CPU_SECONDS = 5.0


class TooSlow(BaseException):
    """A case took too much processor time. The code under test catches every ``Exception``."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise :class:`TooSlow` after so many seconds of this process's own processor time."""

    def stop(*_: Any) -> None:
        # Raised again and again: the next exception handler may swallow a single one.
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.1)
        raise TooSlow(f"more than {seconds} s of processor time")

    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that all fuzzers have."""
    for option in (
        click.option("--case", type=int, help="Run this one case and nothing else."),
        click.option("--first", type=int, default=0, help="The number of the first case."),
        click.option("--seed", type=int, default=1, show_default=True, help="Makes the cases."),
        click.option("--seconds", type=float, default=60, show_default=True, help="Time budget."),
    ):
        command = option(command)
    return command


def chance_of(seed: int, case: int) -> random.Random:
    """Return the random source of a case, independent of the cases before it."""
    return random.Random(f"{seed}/{case}")


def needed(items: tuple[Any, ...], fails: Callable[[tuple[Any, ...]], bool]) -> tuple[Any, ...]:
    """Return the items without those that a failing case fails without."""
    index = 0
    while index < len(items):
        fewer = items[:index] + items[index + 1 :]
        if fails(fewer):
            items = fewer
        else:
            index += 1
    return items


@dataclass(frozen=True)
class Fuzzer:
    """A fuzzer that compares the patched client with the stock client.

    Attributes:
        program: the command to run it, shown to reproduce a finding.
        made: makes a case from a seed and a number.
        lazily: runs a case with a patched client; returns the outcome for :attr:`compare`.
        compare: runs the case with the stock client; raises if the outcomes differ.
        smallest: makes a smaller failing case from a failing one, given a function that says
            whether a case fails.
    """

    program: str
    made: Callable[[int, int], Any]
    lazily: Callable[[Any], Any]
    compare: Callable[[Any, Any], None]
    smallest: Callable[[Any, Callable[[Any], bool]], Any]

    def run(self, seconds: float, seed: int, case: int | None, first: int) -> None:
        """Check cases until the time is up, and exit with 1 if some of them raised.

        Cases that raise alike at the same line are one finding, of which the first is shown.

        Args:
            seconds: the time budget.
            seed: of the cases.
            case: the only case to run; None for as many as there is time for.
            first: the number of the first case.
        """
        until = time.monotonic() + seconds
        found: Counter[str] = Counter()
        start = first if case is None else case
        ran = 0
        while len(found) < _MOST_FINDINGS and (not ran or time.monotonic() < until):
            numbers = range(start + ran, start + ran + (_CASES_OF_ROUND if case is None else 1))
            cases = [self.made(seed, number) for number in numbers]
            for number, made, error in zip(numbers, cases, self._raised(cases), strict=True):
                if error is None:
                    continue
                place = _place(error)
                if place not in found:
                    click.echo(f"--- {self.program} --seed {seed} --case {number}")
                    click.echo(_shown(error))
                    smallest = self.smallest(made, self._fails)
                    click.echo(f"as small as it could be made: {smallest}\n")
                found[place] += 1
            ran += len(numbers)
            if case is not None:
                break
        click.echo(f"{self.program}: seed {seed}, {ran} cases, {found.total()} failed")
        for place, count in found.items():
            click.echo(f"  {count} x {place}")
        if found:
            raise SystemExit(1)

    def command(self, text: str, prepare: Callable[[], object] = lambda: None) -> click.Command:
        """Return the command that runs this.

        Args:
            text: its description.
            prepare: called while nothing is patched.
        """

        @click.command(help=text)
        @options
        def main(seconds: float, seed: int, case: int | None, first: int) -> None:
            click.echo(f"backend: {lazyentity.backend}")
            prepare()
            self.run(seconds, seed, case, first)

        return main

    def _fails(self, case: Any) -> bool:
        return self._raised([case]) != [None]

    def _raised(self, cases: list[Any]) -> list[BaseException | None]:
        """Check some cases; return the error of each. Patching takes longer than a case does."""
        lazyentity.patch(strict=True)
        try:
            lazily = [_attempt(self.lazily, case) for case in cases]
        finally:
            lazyentity.unpatch()
        return [
            error if error is not None else _attempt(self.compare, case, done)[1]
            for case, (done, error) in zip(cases, lazily, strict=True)
        ]


def _attempt(call: Callable[..., Any], *args: Any) -> tuple[Any, BaseException | None]:
    try:
        with limited(_CPU_SECONDS):
            return call(*args), None
    except (Exception, TooSlow) as error:  # noqa: BLE001  # any error is a finding
        return None, error


def _shown(error: BaseException) -> str:
    return shortened("".join(traceback.format_exception(error)))


def shortened(text: str) -> str:
    """Return the start and the end of a long text; a short one as it is."""
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]}\n...\n{text[-_LONGEST // 2 :]}"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if "/fuzz/" in frame.filename), frames[-1])
    # Only the part of the text that all cases of the kind share.
    text = re.split(r"[:\d\n]", str(error), maxsplit=1)[0][:60]
    file = last.filename.rpartition("/")[2]
    return f"{type(error).__name__} at {file}:{last.lineno} {text!r}"
