"""``python -m lazyentity run`` and ``lazyentity-run``: a program that is patched before it starts.

The options of lazyentity are environment variables. The program's child processes inherit the
environment, and so they are patched too, if they run Python.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lazyentity._environment import PROFILE
from lazyentity.cli import bootstrap, dispatch
from lazyentity.cli.dispatch import Failure, require_backend

SCRIPT: Final = "lazyentity-run"
PATH: Final = "PYTHONPATH"
BOOTSTRAP: Final = str(Path(bootstrap.__file__).parent)
"""The folder of the ``sitecustomize`` that patches."""

_CANNOT_RUN, _NOT_FOUND = 126, 127
"""The exit statuses of a shell for a command that it cannot start."""


def main(arguments: list[str], program: str) -> int:
    """Run a script or a module in a new interpreter, which takes the place of this process.

    Args:
        arguments: the options of the command, then the script or ``-m`` and the module, then the
            arguments of the program.
        program: the name of the command, for its help.

    Raises:
        Failure: the interpreter would not be patched.
        SystemExit: the arguments are not understood, or only ask for help.
    """
    parser = _parser(
        program, "[-m] FILE-OR-MODULE ...", "Run a script or a module, patched before it starts."
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="run a module")
    given, target = _parsed(parser, arguments)
    if sys.flags.ignore_environment or sys.flags.no_site:
        raise Failure(
            f"the options -E, -I and -S of Python ignore {PATH}, by which the program is patched; "
            "leave them out",
            status=2,
        )
    module = ["-m"] if given.is_module else []
    return start([sys.executable, *interpreter_options(), *module, *target], given.profile)


def script() -> int:
    """Run the command of the arguments of this process in its place: ``lazyentity-run``.

    Raises:
        SystemExit: the arguments are not understood, or only ask for help.
    """
    parser = _parser(SCRIPT, "COMMAND ...", "Run a command, its Python processes patched.")
    given, command = _parsed(parser, sys.argv[1:])
    return dispatch.run(lambda: start(command, given.profile), SCRIPT)


def _parser(program: str, usage: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program,
        usage=f"{program} [--help] [--profile] {usage}",
        description=f"{description} The options of lazyentity are variables of the environment.",
        allow_abbrev=False,
    )
    parser.add_argument("--profile", action="store_true", help=f"set {PROFILE}=1, unless it is set")
    parser.add_argument("target", nargs=argparse.REMAINDER, help="and its arguments")
    return parser


def _parsed(
    parser: argparse.ArgumentParser, arguments: Sequence[str]
) -> tuple[argparse.Namespace, list[str]]:
    """Return the options, and the command that follows them."""
    given = parser.parse_args(arguments)
    target: list[str] = given.target
    if target[:1] == ["--"]:
        target = target[1:]
    if not target or not target[0]:
        parser.error("there is nothing to run")
    return given, target


def interpreter_options() -> list[str]:
    """Return the options of this interpreter, as in ``python -X dev -m lazyentity``."""
    own = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv[1:])]
    return own[:-2] if own[-2:] == ["-m", "lazyentity"] else []


def environment(profile: bool) -> dict[str, str]:
    """Return the environment in which every interpreter patches.

    Args:
        profile: whether the processes report what they decoded.
    """
    made = dict(os.environ)
    folders = made.get(PATH, "")
    if folders.split(os.pathsep)[0] != BOOTSTRAP:
        made[PATH] = os.pathsep.join(filter(None, (BOOTSTRAP, folders)))
    if profile:
        made.setdefault(PROFILE, "1")
    return made


def start(command: list[str], profile: bool) -> int:
    """Run a command in place of this process, or, on Windows, return its exit status.

    Args:
        command: its name, as a shell finds it, and its arguments.
        profile: as for :func:`environment`.

    Raises:
        Failure: there is no such command, or the backend that the environment requests is missing.
    """
    require_backend()
    try:
        if sys.platform == "win32":
            return subprocess.call(command, env=environment(profile))  # noqa: S603  # its purpose
        sys.stdout.flush()
        # Python ignores these, and the command would inherit that.
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(ignored, signal.SIG_DFL)
        os.execvpe(command[0], command, environment(profile))  # noqa: S606  # no shell: its purpose
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = _hint(command[0]) or "; check its name and PATH"
        raise Failure(f"there is no command {command[0]!r}{hint}", _NOT_FOUND) from error
    except OSError as error:
        hint = _hint(command[0])
        raise Failure(f"cannot run {command[0]!r}: {error.strerror}{hint}", _CANNOT_RUN) from error


def _hint(name: str) -> str:
    """Return how to run a script of Python's; the empty string if it is none."""
    if not name.endswith(".py"):
        return ""
    return f"; to run a script, use `{SCRIPT} python {name}`"
