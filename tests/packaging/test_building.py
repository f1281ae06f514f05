"""The source distribution installs wherever its requirements are, compiler or none."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest
from build import ProjectBuilder

from lazyentity._environment import BUILD_IT
from tests.packaging.conftest import Environment

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns(
    # Further steps may write to the folder of what builds leave; the fixture makes such a file.
    *(".git", ".hypothesis", ".venv*", ".*_cache", "__pycache__", "build", "dist")
)

BACKEND = "import lazyentity; print(lazyentity.backend)"
LOG = "import logging; logging.basicConfig(level=logging.INFO); import lazyentity.auto"
INTERPRETER = "cp{0}{1}-cp{0}{1}".format(*sys.version_info)
PLATFORM = sysconfig.get_platform().replace("-", "_")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout with all that builds left in it; building must not change the original."""
    target = tmp_path_factory.mktemp("checkout") / "lazyentity"
    shutil.copytree(ROOT, target, ignore=NOT_COPIED, symlinks=True)
    generated = target / "build" / "cython" / "lazyentity" / "native" / "mapping.c"
    generated.parent.mkdir(parents=True, exist_ok=True)
    generated.touch()
    (target / "lazyentity" / "native" / "mapping.c").write_text(f"/* {target} */")
    (target / "lazyentity" / "native" / "mapping.so").touch()
    return target


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


def test_it_is_built_offline(sdist: Path, environment: Environment, tmp_path: Path) -> None:
    """With the build requirements there, it is built without network, natively."""
    # Not for speed: this takes a third of the time to compile.
    wheel, _ = environment.build(sdist, tmp_path, CFLAGS="-O0")
    assert wheel.name.endswith(f"-{INTERPRETER}-{PLATFORM}.whl")
    environment.install(wheel)
    assert environment.execute(BACKEND).stdout == "native\n"


def test_it_is_built_without_a_compiler(
    sdist: Path, environment: Environment, tmp_path: Path
) -> None:
    """Where nothing can be compiled the pure backend serves, and an explicit wish is refused.

    The wheel is one of pure Python: pip keeps it, and it must not pass for the native one.
    """
    wheel, printed = environment.build(sdist, tmp_path, CC="/bin/false")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "lazyentity is built without its native backend: there is no C compiler" in printed
    assert BUILD_IT in printed
    environment.install(wheel)
    backend = environment.execute(BACKEND)
    assert backend.stdout == "pure\n", backend.stderr
    logged = environment.execute(LOG)
    assert "pure backend, which is slower (the native backend was not built" in logged.stderr
    assert BUILD_IT in logged.stderr
    refused = environment.execute(BACKEND, LAZYENTITY_BACKEND="native")
    assert refused.returncode != 0
    error = refused.stderr.splitlines()[-1]
    assert error.startswith("ImportError: LAZYENTITY_BACKEND=native cannot be met")
    assert "there is no module lazyentity.native." in error
    assert BUILD_IT in error
