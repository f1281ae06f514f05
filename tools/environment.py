"""Make the virtual environment of the checkout, unless it is up to date.

Called by the Makefile. A change of the interpreter, the requirements or the checkout's folder makes
the environment anew. A change of the native sources only builds the native backend again. If
nothing changed, there is nothing to do.

All environments with the same Python install the same wheel, so that the native backend is compiled
once for each Python. The wheel is editable: it refers to the checkout, where the native backend is
put.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import itertools
import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parent.parent

# As a command, this module is found by its path alone.
sys.path.insert(0, str(CHECKOUT))

from tools.clients import clients  # noqa: E402  # found by the line above

RECORD = "lazyentity.json"
WHEELS = CHECKOUT / "build" / "wheels"
_BUILD = "import sys; from setuptools import build_meta; build_meta.build_editable(sys.argv[1])"


def configuration() -> str:
    """Return a digest of everything that determines the environment's content."""
    names = "setup.py", "pyproject.toml", "tools/building.py", "tools/clients.py"
    files = [*map(CHECKOUT.joinpath, names), CHECKOUT / "lazyentity" / "_version.py"]
    return _digest([*(file.read_bytes() for file in files), repr(clients()).encode()])


def native_sources() -> list[Path]:
    """Return the native backend's sources, and the modules that compile them."""
    package = CHECKOUT / "lazyentity"
    sources = sorted([*package.rglob("*.pxd"), *package.rglob("*.pyx")])
    return [*sources, CHECKOUT / "setup.py", CHECKOUT / "tools" / "building.py"]


def native() -> str:
    """Return a digest of the native backend's sources."""
    return _digest(source.read_bytes() for source in native_sources())


def _digest(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


@contextmanager
def alone(name: str = "building") -> Iterator[None]:
    """Wait for the other processes that are in this context, by default those that build.

    Building writes into the checkout, beside its sources.

    Args:
        name: of the context; other names do not wait for each other.
    """
    WHEELS.mkdir(parents=True, exist_ok=True)
    with (WHEELS / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pyproject() -> dict[str, Any]:
    """Return the content of pyproject.toml."""
    return tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))


def install_command(environment: Path, uv: str | None) -> list[str]:
    """Return the command that installs into an environment, without the requirements.

    Args:
        environment: its folder; without uv, it has pip, or this interpreter does.
        uv: an executable of uv; without one, pip installs.
    """
    python = str(environment / "bin" / "python")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", python]
    command = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    # The first import of a module compiles and keeps it. Few modules are ever imported.
    return command if sys.dont_write_bytecode else [*command, "--no-compile"]


def built_wheel(uv: str | None) -> Path:
    """Return the wheel of this Python; build it first if it is missing or its sources changed.

    Raises:
        SystemExit: building failed; the message is its output.
        subprocess.CalledProcessError: installing failed, and has said why on the terminal.
    """
    folder = WHEELS / str(sysconfig.get_config_var("SOABI"))
    record = folder / RECORD
    wanted = json.dumps([str(CHECKOUT), configuration(), native()])

    def is_built() -> bool:
        return record.exists() and record.read_text() == wanted

    if not is_built():
        with alone():
            # Another process may have built it meanwhile.
            if not is_built():
                print("building the native backend", flush=True)
                build(folder, uv)
                record.write_text(wanted)
    (built,) = folder.glob("*.whl")
    return built


def build(folder: Path, uv: str | None) -> None:
    """Build an editable wheel into a folder, which is made anew, with the build requirements alone.

    Raises:
        SystemExit: building failed; the message is its output.
        subprocess.CalledProcessError: installing failed, and has said why on the terminal.
    """
    shutil.rmtree(folder, ignore_errors=True)
    builder = folder / "builder"
    subprocess.run([sys.executable, "-m", "venv", str(builder)], check=True)
    requirements = pyproject()["build-system"]["requires"]
    subprocess.run([*install_command(builder, uv), *requirements], check=True)
    done = subprocess.run(
        [str(builder / "bin" / "python"), "-c", _BUILD, str(folder)],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout.decode())
    shutil.rmtree(builder)


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
    parser.add_argument("requirements", nargs="*", help="to be installed beside the project")
    parser.add_argument("--extras", default="", help="of the project, separated by commas")
    parser.add_argument("--groups", default="", help="of pyproject.toml, separated by commas")
    parser.add_argument("--uv", help="an executable of uv, to install with it in place of pip")
    arguments = parser.parse_args()
    environment: Path = arguments.environment.absolute()
    wanted: dict[str, Any] = {
        "checkout": str(CHECKOUT),
        "interpreter": [sys.version, sys.base_prefix],
        "configuration": configuration(),
        "extras": arguments.extras,
        "groups": arguments.groups,
        "requirements": arguments.requirements,
        "native": native(),
    }
    install = install_command(environment, arguments.uv)
    try:
        with alone(environment.name):
            before = recorded(environment)
            if before == wanted:
                return
            if before | {"native": wanted["native"]} == wanted:
                new = ["--no-deps", "--force-reinstall", str(built_wheel(arguments.uv))]
            else:
                make(environment)
                wheel = built_wheel(arguments.uv)
                print("installing lazyentity with what its tests and benchmarks need", flush=True)
                groups = filter(None, arguments.groups.split(","))
                new = [
                    f"{wheel}[{arguments.extras}]" if arguments.extras else str(wheel),
                    # Read here: the pip that comes with older Pythons has no option for groups.
                    *itertools.chain(*map(pyproject()["dependency-groups"].__getitem__, groups)),
                    *arguments.requirements,
                ]
            subprocess.run([*install, *new], check=True)
            (environment / RECORD).write_text(json.dumps(wanted))
    except subprocess.CalledProcessError as failure:
        raise SystemExit(failure.returncode) from None


if __name__ == "__main__":
    main()
