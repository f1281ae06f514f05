"""Check the built distributions: their contents, and that they work outside the checkout."""

from __future__ import annotations

import argparse
import subprocess
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
    "bulk/calls": "lazyentity/bulk",
    "bulk/snapshot": "lazyentity/snapshot",
    "packed": "lazyentity/packed",
}
# Tests run from a checkout: no wheel holds them.
NOT_INSTALLED = "bench/tests"
SHIPPED = (*INSTALLED, "fuzz", "tests", "tools")
LOOSE = ("CHANGELOG.rst", "LICENSE", "Makefile", "README.rst", "pyproject.toml", "setup.py")

IMPORTS = "import lazyentity.auto, lazyentity.bench, lazyentity.patches; print(lazyentity.__file__)"


def sources(folder: str, *suffixes: str) -> set[str]:
    """Return the modules below a folder of the checkout, as paths relative to the checkout."""
    paths = (path for suffix in suffixes for path in (CHECKOUT / folder).rglob(f"*{suffix}"))
    return {str(path.relative_to(CHECKOUT)) for path in paths}


def missing_from_sdist(archive: Path) -> set[str]:
    """Return the files of the checkout that the source distribution lacks."""
    with tarfile.open(archive) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}
    expected = set(LOOSE)
    for folder in SHIPPED:
        expected |= sources(folder, ".py", ".pyi", ".pyx", ".pxd")
    return expected - held


def missing_from_wheel(archive: Path) -> set[str]:
    """Return the modules that the wheel lacks, and the marker of its annotations if it does."""
    with zipfile.ZipFile(archive) as wheel:
        held = set(wheel.namelist())
    expected = {"lazyentity/py.typed"}
    for folder, target in INSTALLED.items():
        modules = sources(folder, ".py", ".pyi") - sources(NOT_INSTALLED, ".py")
        expected |= {target + name.removeprefix(folder) for name in modules}
    return expected - held


def tests_in_wheel(archive: Path) -> set[str]:
    """Return the modules in the wheel that only pytest uses."""
    with zipfile.ZipFile(archive) as wheel:
        names = map(PurePosixPath, wheel.namelist())
    return {str(name) for name in names if name.match("test_*.py") or name.name == "conftest.py"}


def foreign_to_wheel(archive: Path) -> set[str]:
    """Return the top-level names in the wheel that are not this project's."""
    with zipfile.ZipFile(archive) as wheel:
        tops = {name.partition("/")[0] for name in wheel.namelist()}
    return {top for top in tops if not top.startswith("lazyentity")}


def main() -> None:
    """Check the distributions in the folder named on the command line.

    Raises:
        SystemExit: one of them fails a check; the message names it.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder.absolute()
    (sdist,) = folder.glob("*.tar.gz")
    (wheel,) = folder.glob("*.whl")
    for archive, wrong in (
        (sdist, missing_from_sdist(sdist)),
        (wheel, missing_from_wheel(wheel)),
        (wheel, foreign_to_wheel(wheel)),
        (wheel, tests_in_wheel(wheel)),
    ):
        if wrong:
            raise SystemExit(f"{archive.name}: missing or misplaced: {', '.join(sorted(wrong))}")
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = Path(scratch, "bin", "python")
        for step in (["-m", "pip", "install", "--quiet", str(wheel)], ["-c", IMPORTS]):
            if subprocess.run([python, *step], cwd=scratch, check=False).returncode:
                raise SystemExit(f"{wheel.name} does not install and import by itself")
    print(f"{sdist.name} and {wheel.name} are complete")


if __name__ == "__main__":
    main()
