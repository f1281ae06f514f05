"""Make the virtual environment of the checkout, unless it is there as it should be.

Called by the Makefile. The environment is made anew when the interpreter, the requirements or the
checkout's place have changed; only the native backend is built again when its sources have; and a
second run of the same starts at once.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent
STAMP = "lazyentity.json"


def digest(parts: Iterable[bytes]) -> str:
    """Return one digest over all ``parts``."""
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def configuration() -> str:
    """Return a digest of what decides on the environment's content."""
    parts = [
        (CHECKOUT / name).read_bytes()
        for name in ("setup.py", "pyproject.toml", "lazyentity/_version.py")
    ]
    # setup.py takes the requirements on the clients from here; the rest of the modules changes
    # freely.
    for name in ("datastore.py", "ndb.py"):
        client = (CHECKOUT / "patches" / name).read_bytes()
        parts += [line for line in client.splitlines() if line.startswith(b"SUPPORTED_VERSIONS")]
    return digest(parts)


def native() -> str:
    """Return a digest of the native backend's sources."""
    package = CHECKOUT / "lazyentity"
    sources = sorted([*package.rglob("*.pxd"), *package.rglob("*.pyx")])
    return digest(source.read_bytes() for source in sources)


def install(environment: Path, extras: str, *requirements: str) -> None:
    """Install the checkout, editable, with ``extras`` and ``requirements`` or options of pip.

    Raises:
        subprocess.CalledProcessError: pip failed, and has said why on the terminal.
    """
    pip = [str(environment / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--quiet", "--editable", f"{CHECKOUT}[{extras}]", *requirements],
        check=True,
    )


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
    # Stamped from the start, as unfinished: an interrupted run is then known as ours and redone.
    (environment / STAMP).write_text("{}")
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)


def recorded(environment: Path) -> dict[str, Any]:
    """Return what ``environment`` was made from; nothing, if it is not there or not finished.

    Raises:
        SystemExit: the folder is there and was not made by this script.
    """
    stamp = environment / STAMP
    if not environment.exists():
        return {}
    if not stamp.exists():
        raise SystemExit(
            f"{environment} was not made by this Makefile: remove it, or choose another folder "
            "with VENV="
        )
    content: dict[str, Any] = json.loads(stamp.read_text())
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
    try:
        if before | {"native": wanted["native"]} == wanted:
            print("building the native backend again", flush=True)
            install(environment, arguments.extras, "--no-deps")
        else:
            make(environment)
            print("installing lazyentity with what its tests and benchmarks need", flush=True)
            install(environment, arguments.extras, *arguments.requirements)
    except subprocess.CalledProcessError as failure:
        raise SystemExit(failure.returncode) from None
    (environment / STAMP).write_text(json.dumps(wanted))


if __name__ == "__main__":
    main()
