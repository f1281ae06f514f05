"""Make the virtual environment of the checkout, unless it is up to date.

Called by the Makefile. A change of the interpreter, the requirements or the checkout's folder makes
the environment anew. A change of the native sources only builds the native backend again. If
nothing changed, there is nothing to do.

Every environment of one Python installs the same wheel, so that the native backend is compiled once
for each Python. The wheel is editable: it refers to the checkout, where the native backend is put.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.clients import clients  # found by the line above

CHECKOUT = Path(__file__).resolve().parent.parent
RECORD = "lazyentity.json"
WHEELS = CHECKOUT / "build" / "wheels"


def digest(parts: Iterable[bytes]) -> str:
    """Return one digest over all ``parts``."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def configuration() -> str:
    """Return a digest of everything that determines the environment's content."""
    parts = [
        (CHECKOUT / name).read_bytes()
        for name in (
            "setup.py",
            "pyproject.toml",
            "tools/building.py",
            "tools/clients.py",
            "lazyentity/_version.py",
        )
    ]
    parts += [repr(client).encode() for client in clients()]
    return digest(parts)


def native() -> str:
    """Return a digest of the native backend's sources, and of the module that compiles them."""
    package = CHECKOUT / "lazyentity"
    sources = sorted([*package.rglob("*.pxd"), *package.rglob("*.pyx")])
    sources.append(CHECKOUT / "tools" / "building.py")
    return digest(source.read_bytes() for source in sources)


class Installer:
    """Installs into an environment, with pip or with uv.

    Args:
        environment: the folder of the environment.
        uv: an executable of uv; without one, pip installs.
    """

    def __init__(self, environment: Path, uv: str | None) -> None:
        self._python = str(environment / "bin" / "python")
        pip = [self._python, "-m", "pip", "--disable-pip-version-check", "install"]
        if not sys.dont_write_bytecode:
            # The first import of a module compiles and keeps it. Few modules are ever imported.
            pip.append("--no-compile")
        self._install = [uv, "pip", "install", "--python", self._python] if uv else pip
        self._uv = uv

    def wheel(self) -> Path:
        """Return the wheel of this Python; build it first if it is missing or its sources changed.

        Raises:
            subprocess.CalledProcessError: building failed, and has said why on the terminal.
        """
        folder = WHEELS / str(sysconfig.get_config_var("SOABI"))
        folder.mkdir(parents=True, exist_ok=True)
        wanted = json.dumps([str(CHECKOUT), configuration(), native()])
        # Environments may be made at the same time, and building writes into the checkout.
        with (WHEELS / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            record = folder / RECORD
            if not record.exists() or record.read_text() != wanted:
                record.unlink(missing_ok=True)
                print("building the native backend", flush=True)
                self.install("build")
                script = [self._python, str(CHECKOUT / "tools" / "editable_wheel.py")]
                options = ["--uv", self._uv] if self._uv else []
                subprocess.run([*script, *options, str(folder)], check=True)
                record.write_text(wanted)
        (built,) = folder.glob("*.whl")
        return built

    def install(self, *arguments: str) -> None:
        """Install requirements, which may be among options of both pip and uv.

        Raises:
            subprocess.CalledProcessError: installing failed, and has said why on the terminal.
        """
        subprocess.run([*self._install, "--quiet", *arguments], check=True)


def make(environment: Path) -> None:
    """Make an empty environment where there may be an old one.

    Raises:
        SystemExit: this interpreter cannot make environments.
        subprocess.CalledProcessError: making it failed, and has said why on the terminal.
    """
    if importlib.util.find_spec("ensurepip") is None:
        raise SystemExit(
            f"{sys.executable} cannot make virtual environments, its ensurepip module is missing. "
            "On Debian and Ubuntu: apt-get install python3-venv"
        )
    print(f"making {environment} with Python {sys.version.split()[0]}", flush=True)
    shutil.rmtree(environment, ignore_errors=True)
    environment.mkdir(parents=True)
    # Recorded as unfinished from the start: an interrupted run is then known as ours and redone.
    (environment / RECORD).write_text("{}")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)


def recorded(environment: Path) -> dict[str, Any]:
    """Return the digests that ``environment`` was made from; none if it is missing or unfinished.

    Raises:
        SystemExit: the folder is there and was not made by this script.
    """
    record = environment / RECORD
    if not environment.exists():
        return {}
    if not record.exists():
        raise SystemExit(
            f"{environment} was not made by this Makefile: remove it, or choose another folder "
            "with VENV="
        )
    content: dict[str, Any] = json.loads(record.read_text())
    return content


def main() -> None:
    """Bring the environment named on the command line up to date.

    Raises:
        SystemExit: the environment cannot be made; the message says why.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("environment", type=Path)
    parser.add_argument("extras", help="of the project, separated by commas")
    parser.add_argument("requirements", nargs="*", help="to be installed beside the project")
    parser.add_argument("--uv", help="an executable of uv, to install with it in place of pip")
    arguments = parser.parse_args()
    environment: Path = arguments.environment.absolute()
    wanted: dict[str, Any] = {
        "checkout": str(CHECKOUT),
        "interpreter": [sys.version, sys.base_prefix],
        "configuration": configuration(),
        "extras": arguments.extras,
        "requirements": arguments.requirements,
        "native": native(),
    }
    before = recorded(environment)
    if before == wanted:
        return
    installer = Installer(environment, arguments.uv)
    try:
        if before | {"native": wanted["native"]} == wanted:
            installer.install("--no-deps", "--force-reinstall", str(installer.wheel()))
        else:
            make(environment)
            wheel = installer.wheel()
            print("installing lazyentity with what its tests and benchmarks need", flush=True)
            installer.install(f"{wheel}[{arguments.extras}]", *arguments.requirements)
    except subprocess.CalledProcessError as failure:
        raise SystemExit(failure.returncode) from None
    (environment / RECORD).write_text(json.dumps(wanted))


if __name__ == "__main__":
    main()
