"""The commands that steps run."""

from __future__ import annotations

import sys

# Every step with tests names those that took long.
DURATIONS = ("--durations=15", "--durations-min=1")


def make(target: str, python: str = sys.executable, **variables: str) -> list[str]:
    """Return the command that makes a target with the variables of the Makefile."""
    assignments = (f"{name}={value}" for name, value in variables.items())
    return ["make", "--no-print-directory", target, f"PYTHON={python}", *assignments]


def pytest(*arguments: str, environment: str = ".venv") -> list[str]:
    """Return the command that runs tests in an environment that has been made."""
    return [f"{environment}/bin/python", "-m", "pytest", *DURATIONS, *arguments]


def shell(*lines: str) -> list[str]:
    """Return the command that runs lines of shell script, and prints each."""
    return ["sh", "-exc", "\n".join(lines)]
