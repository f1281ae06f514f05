"""The environments that the steps of CI run in: of each Python, requirement and client."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.clients import REQUIRED, SupportedClient, apart, clients, constant, extras
from tools.commands import make, shell
from tools.steps import Step

PYTHONS: tuple[str, ...] = constant("lazyentity/_version.py", "PYTHONS")
CURRENT = "{}.{}".format(*sys.version_info)
OLDEST, NEWEST = PYTHONS[0], PYTHONS[-1]
PURE_PYTHON = "3.12"
NEWEST_APART = "3.13"
"""The newest Python for clients with an environment of their own: 3.15 lacks a wheel of one."""
UV = "build/uv/bin/uv"
FIRST_ENVIRONMENT = "the environment"
OTHER_ENVIRONMENTS = "environments of other Pythons"
LOWEST_ENVIRONMENTS = "environments with the lowest requirements"
APART_ENVIRONMENTS = "environments of clients apart, and of versions between"


def interpreter(version: str) -> str | None:
    """Return the newest patch release of a Python version that pyenv has; None if it has none."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    found = [
        (int(patch), python)
        for python in versions.glob(f"{version}.*/bin/python")
        if (patch := python.parent.parent.name.removeprefix(f"{version}.")).isdecimal()
    ]
    return str(max(found)[1]) if found else None


def found(version: str, pythons: Mapping[str, str]) -> str:
    """Return a version of Python; the current one stands for one that was not found."""
    return version if version in pythons else CURRENT


def environment(version: str, pythons: Mapping[str, str], client: str = "") -> str:
    """Return the folder of the environment of a Python; the current one stands for one not found.

    Args:
        version: of Python.
        pythons: the interpreter of each other Python version.
        client: with an environment of its own.
    """
    return "-".join(filter(None, (".venv", client, version if version in pythons else "")))


def environment_steps(pythons: Mapping[str, str]) -> list[Step]:
    """Return the steps that make the environments of all clients that go together.

    Args:
        pythons: the interpreter of each other Python version.
    """
    return [
        Step(FIRST_ENVIRONMENT, make("venv")),
        Step(
            OTHER_ENVIRONMENTS,
            shell(
                f"{sys.executable} -m venv build/uv",
                "build/uv/bin/python -m pip -q install uv",
                *(
                    f"make venv UV={UV} PYTHON={python} VENV=.venv-{version}"
                    for version, python in pythons.items()
                ),
            ),
        ),
        Step(
            LOWEST_ENVIRONMENTS,
            shell(*lowest_environments(pythons)),
            needs=(FIRST_ENVIRONMENT, OTHER_ENVIRONMENTS),
        ),
    ]


def lowest_environments(pythons: Mapping[str, str]) -> list[str]:
    """Return the commands that make the environments with the lowest requirements."""
    lowest = '"REQUIRE=$(.venv/bin/python tools/lowest.py{})"'
    made = f"make venv UV={UV} PYTHON={pythons.get(OLDEST, sys.executable)}"
    # Without the consumers: one of them needs the newest google-cloud-datastore.
    together = ",".join(["adapters", *(extra for extra in extras() if extra not in apart())])
    return [
        f"{made} VENV=.venv-lowest EXTRAS=bench,test {lowest.format('')}",
        *(
            f"{made} VENV=.venv-lowest-{extra} "
            + f"EXTRAS=bench,test,{extra if extra in apart() else together} "
            + lowest.format(f" {extra}")
            for extra in extras()
        ),
    ]


def apart_environments(pythons: Mapping[str, str]) -> list[str]:
    """Return the commands that make the environments of clients apart, on other Pythons."""
    return [
        f"make venv UV={UV} PYTHON={pythons[version]} VENV={environment(version, pythons, client)} "
        f"EXTRAS=bench,test,{client}"
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
