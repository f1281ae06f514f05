"""Virtual environments with only the declared build requirements."""

from __future__ import annotations

import os
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest
from build import ProjectBuilder


class Environment:
    """A new virtual environment.

    Args:
        folder: the folder of the new environment.
        requirements: the distributions to install, from the package index.
    """

    def __init__(self, folder: Path, requirements: set[str]) -> None:
        venv.create(folder, with_pip=True)
        self.python = folder / "bin" / "python"
        self._run("-m", "pip", "install", "--quiet", *sorted(requirements)).check_returncode()

    def build(self, sdist: Path, folder: Path, **variables: str) -> tuple[Path, str]:
        """Build a wheel of ``sdist``; return it, and what was printed.

        Without a package index, and with the declared build requirements alone.
        """
        # A wheel that pip built before from the same archive would take the place of building.
        offline = ("--no-index", "--no-build-isolation", "--no-deps", "--no-cache-dir", "--verbose")
        built = self._run(
            "-m", "pip", "wheel", *offline, "--wheel-dir", str(folder), str(sdist), **variables
        )
        assert built.returncode == 0, built.stdout + built.stderr
        (wheel,) = folder.glob("*.whl")
        return wheel, built.stdout + built.stderr

    def install(self, wheel: Path) -> None:
        """Install a wheel without its run-time requirements."""
        alone = ("--no-index", "--no-deps", "--force-reinstall")
        installed = self._run("-m", "pip", "install", *alone, str(wheel))
        assert installed.returncode == 0, installed.stderr

    def execute(self, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program, with the dependencies of the environment that runs the tests."""
        # Modules in a folder on this path are found; the links of editable installations are not.
        dependencies = sysconfig.get_path("purelib"), sysconfig.get_path("platlib")
        path = os.pathsep.join([str(self._packages()), *dict.fromkeys(dependencies)])
        return self._run("-c", program, PYTHONPATH=path, **variables)

    def _packages(self) -> Path:
        (found,) = self.python.parent.parent.glob("lib/python*/site-packages")
        return found

    def _run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        inherited = {name: value for name, value in os.environ.items() if name not in _CLEARED}
        return subprocess.run(
            [self.python, *arguments],
            cwd=self.python.parent,
            env={**inherited, **variables},
            capture_output=True,
            text=True,
            check=False,
        )


_CLEARED = ("LAZYENTITY_BACKEND", "LAZYENTITY_DISABLE", "PYTHONPATH", "CC", "CFLAGS")


ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the declared build requirements."""
    requirements = ProjectBuilder(ROOT).build_system_requires
    return Environment(tmp_path_factory.mktemp("environment"), requirements)
