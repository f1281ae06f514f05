"""The command line of the doctor."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import shutil
import sys
from pathlib import Path

from lazyentity.cli.doctor import report
from lazyentity.cli.failures import Failure

_WIDTH = 100


def main(arguments: list[str], program: str) -> int:
    """Print the report; return 1 if there is a problem, else 0.

    Args:
        arguments: those of the command.
        program: the name of the command, for its help.

    Raises:
        Failure: the application cannot be imported.
        SystemExit: the arguments are not understood, or only ask for help.
    """
    parser = argparse.ArgumentParser(
        prog=program,
        description="Say whether lazyentity works here, and what to do if it does not. It changes "
        "nothing. The exit status is 1 if there is a problem, else 0.",
        allow_abbrev=False,
    )
    parser.add_argument("--app", metavar="MODULE", help="import the application first")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    if given.app is not None:
        _import(given.app)
    sections = report.examine(has_application=given.app is not None)
    if given.json:
        sys.stdout.write(report.as_json(sections, given.app))
    else:
        width = min(_WIDTH, shutil.get_terminal_size().columns)
        sys.stdout.write(report.as_text(sections, width))
    return 1 if report.problems(sections) else 0


def _import(application: str) -> None:
    """Import the application; what it prints goes to standard error.

    Args:
        application: a module; what follows a colon is ignored, as in ``package.module:app``.

    Raises:
        Failure: it cannot be imported.
    """
    module = application.partition(":")[0]
    if Path(module).suffix == ".py" and Path(module).exists():
        raise Failure(f"--app takes the name of a module, not a file: --app {Path(module).stem}", 2)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise Failure(
            f"the application {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
