"""The source distribution installs wherever its declared requirements are, compiler or none."""

from __future__ import annotations

import shutil
import sys
import tarfile
from pathlib import Path

import pytest
from build import ProjectBuilder

from tests.packaging.environments import Environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(
    ".git", ".hypothesis", ".venv*", ".*_cache", "__pycache__", "dist"
)

BACKEND = "import lazyentity; print(lazyentity.backend)"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout with all that builds left in it; building must not change the original."""
    target = tmp_path_factory.mktemp("checkout") / "lazyentity"
    shutil.copytree(ROOT, target, ignore=NOT_COPIED)
    generated = target / "build" / "cython" / "lazyentity" / "native" / "mapping.c"
    generated.parent.mkdir(parents=True, exist_ok=True)
    generated.touch()
    (target / "lazyentity" / "native" / "mapping.c").write_text(f"/* {target} */")
    (target / "lazyentity" / "native" / "mapping.so").touch()
    return target


@pytest.fixture(scope="module")
def environment(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the declared build requirements."""
    requirements = ProjectBuilder(copy).build_system_requires
    return Environment(tmp_path_factory.mktemp("environment"), requirements)


@pytest.fixture(scope="module")
def sdist(copy: Path, environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, built with the declared requirements alone."""
    builder = ProjectBuilder(copy, python_executable=str(environment.python))
    return Path(builder.build("sdist", str(tmp_path_factory.mktemp("dist"))))


def contents(sdist: Path) -> dict[str, bytes]:
    """Return the files in the archive by their names, without the folder that all are in."""
    with tarfile.open(sdist) as archive:
        files = {member.name.partition("/")[2]: archive.extractfile(member) for member in archive}
        return {name: file.read() for name, file in files.items() if file is not None}


def test_it_holds_the_sources_of_the_native_backend(sdist: Path) -> None:
    """Every Cython source is there, and nothing that is generated or compiled from one."""
    held = contents(sdist)
    sources = {
        f"lazyentity/native/{path.name}"
        for path in (ROOT / "lazyentity" / "native").glob("*.p[yx][dix]")
    }
    assert {"lazyentity/native/mapping.pyx", "lazyentity/native/wire.pxd"} <= sources <= held.keys()
    assert [name for name in held if name.endswith((".c", ".so", ".o", ".pyd", ".pyc"))] == []


def test_it_tells_nothing_of_the_machine(sdist: Path, copy: Path) -> None:
    """No file names a folder of the machine that it was built on."""
    folders = {str(path).encode() for path in (ROOT, copy, Path(sys.prefix), Path(sys.base_prefix))}
    # Interpreters are in such folders everywhere; to name one tells nothing.
    folders -= {b"/usr", b"/usr/local"}
    assert {
        (name, folder)
        for name, text in contents(sdist).items()
        for folder in folders
        if folder in text
    } == set()


def test_it_installs_offline(sdist: Path, environment: Environment) -> None:
    """With the build requirements there, it is built and installed without network, natively."""
    installed = environment.install(sdist)
    assert installed.returncode == 0, installed.stderr
    backend = environment.execute(BACKEND)
    assert backend.stdout == "native\n", backend.stderr


def test_it_installs_without_a_compiler(sdist: Path, environment: Environment) -> None:
    """Where nothing can be compiled the pure backend serves, and an explicit wish is refused."""
    installed = environment.install(sdist, CC="/bin/false")
    assert installed.returncode == 0, installed.stderr
    backend = environment.execute(BACKEND)
    assert backend.stdout == "pure\n", backend.stderr
    refused = environment.execute(BACKEND, LAZYENTITY_BACKEND="native")
    assert refused.returncode != 0
    error = refused.stderr.splitlines()[-1]
    assert error.startswith("ImportError: LAZYENTITY_BACKEND=native cannot be met")
    assert "No module named 'lazyentity.native." in error
    assert "C compiler" in error
