"""The commands of ``python -m lazyentity``: found by name, and run to one sentence in the end."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Final, NamedTuple

from lazyentity._environment import expected_backend, obstacle, requested_backend
from lazyentity._version import __version__

Main = Callable[[list[str], str], "int | None"]
"""Takes the arguments and the name of the program; returns the exit status, 0 if None."""


class Command(NamedTuple):
    """A command of the command line.

    Attributes:
        module: the module whose function ``main`` is a :data:`Main`.
        summary: its purpose, in a few words, for the list of commands.
        extra: the extra that it needs; empty for the base installation, which also works without
            a supported client.
    """

    module: str
    summary: str
    extra: str = ""


COMMANDS: Final = {
    "bench": Command("lazyentity.bench.cli", "measure it, on your own entities too", "bench"),
    "demo": Command("lazyentity.bench.demo", "show the effect on three lines of code", "bench"),
    "doctor": Command("lazyentity.cli.doctor", "say what works here, and what does not"),
    "run": Command("lazyentity.cli.run", "run a program that is patched before it starts"),
    "server": Command("lazyentity.bench.server.command", "run a Datastore server here", "bench"),
    "snapshot": Command("lazyentity.snapshot.command", "keep a kind in a file", "snapshot"),
}


class Failure(Exception):
    """The end of a command that its user can do something about: a sentence, and no traceback.

    Args:
        message: one sentence, without the name of the program: what is wrong and what to do.
        status: the exit status.
    """

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; return its exit status.

    Args:
        arguments: None for the arguments of the process.

    Raises:
        SystemExit: the arguments are wrong or only ask for help, or the command raised it.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    is_script = Path(sys.argv[0]).stem == "lazyentity"
    program = "lazyentity" if is_script else "python -m lazyentity"
    parser = _parser(program)
    name = parser.parse_args(given[:1]).command
    if name is None:
        parser.print_help(sys.stderr)
        return 2
    command = COMMANDS.get(name)
    if command is None:
        parser.error(f"there is no command {name!r}{suggestion(name, COMMANDS)}")
    return run(lambda: _load(command)(given[1:], f"{program} {name}"), f"{program} {name}")


def run(command: Callable[[], int | None], program: str) -> int:
    """Run a command to its end, or to one sentence on standard error; return the exit status.

    Args:
        command: returns the exit status; None is 0.
        program: the name that the sentence begins with.
    """
    try:
        status = command()
        # Here, because the interpreter would print the error of a closed pipe at its end.
        sys.stdout.flush()
        return status or 0
    except Failure as failure:
        return _ended(program, str(failure), failure.status)
    except KeyboardInterrupt:
        return _ended(program, "interrupted", 128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader has gone, as in `| head -1`: drop the rest of the output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _ended(program: str, sentence: str, status: int) -> int:
    sys.stderr.write(f"{program}: {sentence}\n")
    return status


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question after a similar name that is known; the empty string if there is none."""
    similar = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {similar[0]!r}?" if similar else ""


def _parser(program: str) -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    lines = (f"  {name:<{width}}  {command.summary}" for name, command in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [--help] [--version] COMMAND ...",
        description="Lazy entities for google-cloud-datastore.",
        epilog="\n".join(["commands (each has a --help of its own):", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"lazyentity {__version__}")
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="one of those below")
    return parser


def _load(command: Command) -> Main:
    """Import a command.

    Raises:
        Failure: the requested backend is missing, or a module that an extra installs. Commands of
            the base installation have to work then.
    """
    _tell_of_checkout()
    if command.extra:
        require_backend()
    try:
        loaded: Main = importlib.import_module(command.module).main
    except ImportError as error:
        if not command.extra or error.name is None or error.name.startswith("lazyentity"):
            raise
        raise Failure(
            f"the module {error.name} is not installed; install what this command needs with "
            f"`pip install '.[{command.extra}]'` in a checkout of lazyentity",
            status=2,
        ) from error
    return loaded


def require_backend() -> None:
    """Check that the backend which the environment requests can serve.

    Raises:
        Failure: it cannot.
    """
    try:
        expected_backend()
    except ImportError as error:
        raise Failure(str(error), status=2) from error


def _tell_of_checkout() -> None:
    """Say if a checkout without the native backend was imported, which may not be meant."""
    package = Path(__file__).resolve().parents[1]
    if not (package.parent / "pyproject.toml").exists():
        return
    with contextlib.suppress(ImportError):
        found = obstacle()
        if found is None or requested_backend() == "pure":
            return
        elsewhere = _installed_elsewhere(package)
        instead = (
            f"; to use the copy in {elsewhere}, run `lazyentity`, or change to another folder"
            if elsewhere is not None
            else ""
        )
        sys.stderr.write(
            f"lazyentity: imported from the checkout {package.parent}, where the pure backend "
            f"serves, the slower one: {found.problem}{instead}\n"
        )


def _installed_elsewhere(package: Path) -> Path | None:
    """Return the folder of another copy, which is installed; None if there is none."""
    try:
        installed = metadata.distribution("lazyentity").locate_file("lazyentity")
    except metadata.PackageNotFoundError:
        return None
    found = Path(str(installed)).resolve()
    return found.parent if found.is_dir() and found != package else None
