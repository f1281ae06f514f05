"""The command line of the doctor."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import shutil
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from lazyentity.cli import dispatch
from lazyentity.cli.doctor import report
from lazyentity.cli.doctor.findings import PROBLEM, Finding
from lazyentity.cli.entry import importing_application
from lazyentity.cli.failures import Failure
from lazyentity.codec.describing import safe_str

_WIDTH = 100


def main(arguments: list[str], program: str) -> int:
    """Print the report; return 1 if there is a problem, else 0.

    With ``--json`` an error is printed as JSON, too, before it is raised.

    Args:
        arguments: the arguments of the command.
        program: the name of the command, for its help.

    Raises:
        Failure: the application cannot be imported; with ``--json``, also if the arguments are not
            understood.
        SystemExit: the arguments are not understood, or only ask for help.
    """
    # Looked for here: the arguments may not be understood.
    wants_json = "--json" in arguments
    application: str | None = None
    try:
        given = _parser(program, wants_json).parse_args(arguments)
        application = given.app
        if application is not None:
            _import(application)
        sections = report.examine(has_application=application is not None)
    except BaseException as error:
        if wants_json and not _is_help(error):
            dispatch.write(report.as_json(_only(error), application))
        raise
    if given.json:
        dispatch.write(report.as_json(sections, application))
    else:
        width = min(_WIDTH, shutil.get_terminal_size().columns)
        dispatch.write(report.as_text(sections, width, verbose=given.verbose))
    return 1 if report.problems(sections) else 0


class _FailingParser(argparse.ArgumentParser):
    """Raises an error of the arguments as a :class:`Failure`."""

    def error(self, message: str) -> NoReturn:
        raise Failure(message, status=2)


def _parser(program: str, wants_json: bool) -> argparse.ArgumentParser:
    parser = (_FailingParser if wants_json else argparse.ArgumentParser)(
        prog=program,
        description="Say whether lazyentity works here, and what to do if it does not. It changes "
        "nothing. The exit status is 1 if there is a problem, else 0.",
        allow_abbrev=False,
    )
    parser.add_argument("--app", metavar="MODULE", help="import the application first")
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="name the attributes, the libraries and the supported versions too",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all names")
    return parser


def _is_help(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and not error.code


def _only(error: BaseException) -> report.Sections:
    """Return the findings of a report that could not be made."""
    if isinstance(error, Failure):
        text = str(error)
    else:
        text = traceback.format_exception_only(error)[-1].strip()
    return {"Doctor": [Finding("doctor", text, PROBLEM)]}


def _import(application: str) -> None:
    """Import the application; what it prints goes to standard error.

    Args:
        application: a module; a colon and the rest are ignored, as in ``package.module:app``.

    Raises:
        Failure: the application cannot be imported.
    """
    module = application.partition(":")[0]
    if Path(module).suffix == ".py" and Path(module).exists():
        raise Failure(f"--app takes the name of a module, not a file: --app {Path(module).stem}", 2)
    if not all(map(str.isidentifier, module.split("."))):
        raise Failure(f"--app takes the name of a module, as package.module; {module!r} is none", 2)
    try:
        with contextlib.redirect_stdout(sys.stderr), _no_arguments(), importing_application():
            importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # Some libraries raise exceptions that do not derive from Exception.
        text = " ".join(safe_str(error).split())
        raise Failure(
            f"the application {module!r} cannot be imported{_where(error)}: "
            f"{type(error).__name__}{text and ': '}{text}"
        ) from error


@contextlib.contextmanager
def _no_arguments() -> Iterator[None]:
    """Hide the arguments of the doctor from an application that parses its own."""
    given = sys.argv
    sys.argv = given[:1]
    try:
        yield
    finally:
        sys.argv = given


def _where(error: BaseException) -> str:
    """Return the line that raised an error; the empty string if it is one of the import system."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen ") and frame.filename != __file__
    ]
    # The first frame is importlib's.
    return f", see {frames[-1].filename}:{frames[-1].lineno}" if len(frames) > 1 else ""
