"""The environments that the steps of CI run in: of each Python, requirement and client."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

from tools.clients import CHECKOUT, REQUIRED, SupportedClient, apart, clients, constant, extras
from tools.commands import make, shell
from tools.steps import Step

PYTHONS: tuple[str, ...] = constant("lazyentity/_version.py", "PYTHONS")
CURRENT = "{}.{}".format(*sys.version_info)
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]
PURE_PYTHON = "3.12"
NEWEST_APART = "3.13"
"""The newest Python for clients with an environment of their own: 3.15 lacks a wheel of one."""
NEWER_PYTHON = CHECKOUT.parent / "shared" / "tools" / "newer-python"
"""Runs a command in a root folder with newer Pythons, which it installs there; only root can."""
ROOT = (
    Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").resolve() / "lazyentity/forky"
)
UV = "build/uv/bin/uv"
# The first process of a PID namespace gets no signal that it does not handle.
_STOPPABLE = ("sh", "-c", 'trap "exit 143" TERM; "$@" & wait $!', "sh")
FIRST_ENVIRONMENT = "the environment"
NEWEST_PYTHON = "the newest Python"
NEWEST_ENVIRONMENT = "the environment of the newest Python"
OTHER_ENVIRONMENTS = "environments of other Pythons"
LOWEST_ENVIRONMENTS = "environments with the lowest requirements"
APART_ENVIRONMENTS = "environments of clients apart, and of versions between"


class Interpreter(NamedTuple):
    """An interpreter of another Python.

    Attributes:
        executable: its path, or its name.
        inside: the beginning of commands that run where the interpreter is; mostly none.
    """

    executable: str
    inside: tuple[str, ...] = ()

    def make(self, target: str, **variables: Any) -> str:
        """Return the line of shell script that makes a target with this interpreter."""
        return shlex.join([*self.inside, *make(target, self.executable, **variables)])


def interpreter(version: str) -> Interpreter | None:
    """Return the interpreter of a Python version; None if there is none.

    It is the newest patch release that pyenv has, or the one on the path. The newest version can
    also be in a root folder of its own.
    """
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [
        (int(patch), python)
        for python in versions.glob(f"{version}.*/bin/python")
        if (patch := python.parent.parent.name.removeprefix(f"{version}.")).isdecimal()
    ]
    if found:
        return Interpreter(str(max(found)[1]))
    name = f"python{version}"
    if version != NEWEST:
        return None
    if python := shutil.which(name):
        return Interpreter(python)
    if NEWER_PYTHON.is_file() and os.geteuid() == 0:
        return Interpreter(name, (str(NEWER_PYTHON), str(ROOT), *_STOPPABLE))
    return None


def interpreters() -> dict[str, Interpreter]:
    """Return the interpreter of each supported Python version but the current one.

    Versions that were not found are left out: the current one stands for them.

    Raises:
        SystemExit: the newest one was not found, whose tests nothing replaces.
    """
    others = [version for version in PYTHONS if version != CURRENT]
    pythons = {version: python for version in others if (python := interpreter(version))}
    if NEWEST in others and NEWEST not in pythons:
        raise SystemExit(
            f"Python {NEWEST} is missing: install it with pyenv, or put python{NEWEST} on the "
            f"path. As root, {NEWER_PYTHON} can install it, where that tool is."
        )
    return pythons


def found(version: str, pythons: Mapping[str, Interpreter]) -> str:
    """Return a version of Python; the current one stands for one that was not found."""
    return version if version in pythons else CURRENT


def environment(version: str, pythons: Mapping[str, Interpreter], client: str = "") -> str:
    """Return the folder of the environment of a Python; the current one stands for one not found.

    Args:
        version: of Python.
        pythons: the interpreter of each other Python version.
        client: with an environment of its own.
    """
    return "-".join(filter(None, (".venv", client, version if version in pythons else "")))


def environment_steps(pythons: Mapping[str, Interpreter]) -> list[Step]:
    """Return the steps that make the environments of all clients that go together.

    Args:
        pythons: the interpreter of each other Python version.
    """
    elsewhere = {version: python for version, python in pythons.items() if python.inside}
    return [
        Step(FIRST_ENVIRONMENT, make("venv")),
        Step(
            NEWEST_PYTHON,
            # The first command makes the root folder.
            shell(*(shlex.join([*python.inside, "true"]) for python in elsewhere.values())),
            cores=0,
        ),
        Step(
            OTHER_ENVIRONMENTS,
            shell(
                f"{sys.executable} -m venv build/uv",
                "build/uv/bin/python -m pip -q install uv",
                *_environments(pythons.keys() - elsewhere, pythons),
            ),
        ),
        Step(
            NEWEST_ENVIRONMENT,
            shell(*_environments(elsewhere.keys(), pythons)),
            needs=(NEWEST_PYTHON, OTHER_ENVIRONMENTS),
        ),
        Step(
            LOWEST_ENVIRONMENTS,
            shell(*lowest_environments(pythons)),
            needs=(FIRST_ENVIRONMENT, NEWEST_ENVIRONMENT),
        ),
    ]


def _environments(versions: Set[str], pythons: Mapping[str, Interpreter]) -> list[str]:
    """Return the commands that make the environments of Python versions."""
    return [
        python.make("venv", UV=UV, VENV=f".venv-{version}")
        for version, python in pythons.items()
        if version in versions
    ]


def lowest_environments(pythons: Mapping[str, Interpreter]) -> list[str]:
    """Return the commands that make the environments with the lowest requirements."""
    oldest = pythons.get(OLDEST, Interpreter(sys.executable))
    made = oldest.make("venv", UV=UV)
    # Without the consumers: one of them needs the newest google-cloud-datastore.
    together = ",".join(["adapters", *(extra for extra in extras() if extra not in apart())])

    def lines(of: str, suffix: str, wanted: str) -> tuple[str, str]:
        # The first on a line of its own: the shell passes over a failure inside of an argument.
        return (
            f"lowest=$(.venv/bin/python tools/lowest.py {of})",
            f'{made} VENV=.venv-lowest{suffix} EXTRAS=bench,test{wanted} "REQUIRE=$lowest"',
        )

    return [
        *lines("", "", ""),
        *(
            line
            for extra in extras()
            for line in lines(extra, f"-{extra}", f",{extra if extra in apart() else together}")
        ),
    ]


def apart_environments(pythons: Mapping[str, Interpreter]) -> list[str]:
    """Return the commands that make the environments of clients apart, on other Pythons."""
    return [
        pythons[version].make(
            "venv",
            UV=UV,
            VENV=environment(version, pythons, client),
            EXTRAS=f"bench,test,{client}",
        )
        for client in apart()
        for version in (PURE_PYTHON, NEWEST_APART)
        if version in pythons
    ]


def between_environment(client: SupportedClient) -> str:
    """Return the folder of the environment with a version between the first and the last one."""
    return f".venv-between-{client.name}"


def between_environments() -> list[str]:
    """Return the commands that make the environments with versions between, on this Python."""
    return [
        f"make venv UV={UV} PYTHON={sys.executable} VENV={between_environment(client)} "
        f"EXTRAS=bench,test{'' if client.name == REQUIRED else f',{client.name}'} "
        f"REQUIRE={client.distribution}=={client.between}"
        for client in clients()
        if client.between
    ]
