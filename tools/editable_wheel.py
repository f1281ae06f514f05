"""Build the wheel that refers to the checkout, with the native backend compiled into the checkout.

:mod:`environment` runs this with the Python that the wheel is for, which has the ``build`` library.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from build import BuildBackendException, ProjectBuilder
from build.env import DefaultIsolatedEnv
from pyproject_hooks import quiet_subprocess_runner

CHECKOUT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Build into the folder named on the command line, and replace its contents.

    Raises:
        SystemExit: building failed; the message is its output.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--uv", type=Path, help="an executable of uv, to use in place of pip")
    arguments = parser.parse_args()
    for old in arguments.folder.glob("*.whl"):
        old.unlink()
    if arguments.uv:
        # The build library finds it on the path alone.
        os.environ["PATH"] = f"{arguments.uv.parent}{os.pathsep}{os.environ['PATH']}"
    with DefaultIsolatedEnv(installer="uv" if arguments.uv else "pip") as environment:
        builder = ProjectBuilder.from_isolated_env(environment, CHECKOUT, quiet_subprocess_runner)
        environment.install(builder.build_system_requires)
        try:
            builder.build("editable", arguments.folder)
        except BuildBackendException as failure:
            raise SystemExit(getattr(failure.exception, "output", b"").decode()) from failure


if __name__ == "__main__":
    main()
