"""Finding a command by its name, and running it."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import errno
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from lazyentity._environment import PROFILE, is_set
from lazyentity._version import __version__
from lazyentity.cli.commands import COMMANDS, Command
from lazyentity.cli.failures import Failure, needing, require_backend

PROGRAM = "python -m lazyentity"

Main = Callable[[list[str], str], "int | None"]
"""Takes the arguments and the name of the program; returns the exit status, 0 if None."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; return its exit status.

    Args:
        arguments: None for the arguments of the process.

    Raises:
        SystemExit: the arguments are wrong or only ask for help, or the command raised it.
    """
    if is_set(PROFILE):
        # A report of this process would take the place of that of the user's program.
        importlib.import_module("lazyentity.profiling.collection").cancel()
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _parser()
    name = parser.parse_args(given[:1]).command
    if name is None:
        parser.print_help(sys.stderr)
        return 2
    command = COMMANDS.get(name)
    if command is None:
        parser.error(f"there is no command {name!r}{suggestion(name, COMMANDS)}")
    program = f"{PROGRAM} {name}"
    return run(lambda: _load(command)(given[1:], program), program)


def run(command: Callable[[], int | None], program: str) -> int:
    """Run a command to its end, or to one sentence on standard error; return the exit status.

    Args:
        command: returns the exit status; None is 0.
        program: the name that the sentence begins with.
    """
    try:
        with _failing_output():
            status = command()
            # Here, because the interpreter would print the error of a closed pipe at its end.
            flush()
            return status or 0
    except Failure as failure:
        return _ended(program, str(failure), failure.status)
    except KeyboardInterrupt:
        return _ended(program, "interrupted", 128 + signal.SIGINT)


def flush() -> None:
    """Write the buffered output, if the process has an output."""
    for stream in (sys.stdout, sys.stderr):
        # None, if its file was closed before the interpreter started.
        if stream is not None:
            stream.flush()


def write(text: str) -> None:
    """Write the outcome of a command to the standard output.

    Raises:
        Failure: the standard output is closed.
    """
    if sys.stdout is None:
        raise Failure("cannot write the output: the standard output is closed")
    sys.stdout.write(text)


def _ended(program: str, sentence: str, status: int) -> int:
    if sys.stderr is not None:
        sys.stderr.write(f"{program}: {sentence}\n")
    return status


@contextlib.contextmanager
def _failing_output() -> Iterator[None]:
    """End quietly if the reader of the output has gone, as in ``| head -1``.

    Raises:
        Failure: the disk is full.
        SystemExit: the reader has gone.
    """
    try:
        yield
    except BrokenPipeError:
        _discard_output()
        raise SystemExit(1) from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _discard_output()
        raise Failure(f"cannot write the output: {error.strerror}") from error


def _discard_output() -> None:
    """Drop the rest of the output, so that the interpreter's last flush raises no error."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question after a similar name that is known; the empty string if there is none."""
    similar = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = (f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        usage=f"{PROGRAM} [--help] [--version] COMMAND ...",
        description="Lazy entities for google-cloud-datastore.",
        epilog="\n".join(["commands (each has a --help of its own):", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"lazyentity {__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    return parser


def _load(command: Command) -> Main:
    # The other commands have to work where the library does not.
    if command.extra:
        require_backend()
    with needing(command.extra) if command.extra else contextlib.nullcontext():
        loaded: Main = importlib.import_module(command.module).main
    return loaded
