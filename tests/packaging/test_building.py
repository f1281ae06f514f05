"""The source distribution installs wherever its requirements are, compiler or none."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tarfile
import zipfile
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


GOOD = "def answer():\n    return 42\n"
BAD = 'cdef extern from *:\n    """\n    #error "not for this compiler"\n    """\n'
OPTIMISED = '''
cdef extern from *:
    """
    #ifdef __OPTIMIZE__
    #define IS_OPTIMISED 1
    #else
    #define IS_OPTIMISED 0
    #endif
    """
    bint IS_OPTIMISED
is_optimised = IS_OPTIMISED
'''
SETUP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from setuptools import Extension, setup
from tools.building import BuildNative
sources = sorted(__import__("pathlib").Path().glob("*.pyx"))
setup(
    name="toy",
    version="1",
    py_modules=["pure"],
    ext_modules=[Extension(one.stem, [one.name], optional=True) for one in sources],
    cmdclass={{"build_ext": BuildNative}},
)
"""


def toy(folder: Path, **sources: str) -> Path:
    """A project with a module of Python, and one of Cython for each of the sources."""
    project = folder / "toy"
    project.mkdir()
    (project / "setup.py").write_text(SETUP)
    (project / "pure.py").touch()
    for name, source in sources.items():
        (project / f"{name}.pyx").write_text(f"# cython: language_level=3\n{source}")
    return project


def compiled(wheel: Path) -> list[str]:
    """The names of the compiled modules in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(
            name.partition(".")[0] for name in archive.namelist() if name.endswith((".so", ".pyd"))
        )


def test_a_native_wheel(environment: Environment, tmp_path: Path) -> None:
    project = toy(tmp_path, one=GOOD, other=GOOD)
    wheel, printed = environment.build(project, tmp_path / "wheels", CFLAGS="-O0")
    assert wheel.name.endswith(f"-{PLATFORM}.whl")
    assert compiled(wheel) == ["one", "other"]
    assert "without its native backend" not in printed


def test_optimisation(environment: Environment, tmp_path: Path) -> None:
    """The flags of Python itself apply beside ours."""
    assert "-O" in sysconfig.get_config_var("CFLAGS")
    project = toy(tmp_path, one=OPTIMISED)
    wheel, _ = environment.build(project, tmp_path / "wheels")
    environment.install(wheel)
    ran = environment.execute("import one; print(one.is_optimised)")
    assert ran.stdout == "True\n", ran.stderr


def test_one_module_that_does_not_compile(environment: Environment, tmp_path: Path) -> None:
    """The others are left out as well, and the wheel has the tag of pure Python."""
    project = toy(tmp_path, bad=BAD, good=GOOD)
    wheel, printed = environment.build(project, tmp_path / "wheels", CFLAGS="-O0")
    assert wheel.name == "toy-1-py3-none-any.whl"
    assert compiled(wheel) == []
    assert "the compiler failed for bad, see above" in printed


def test_free_threaded_python(environment: Environment, tmp_path: Path) -> None:
    """Nothing is compiled for it."""
    project = toy(tmp_path, good=GOOD)
    setup = project / "setup.py"
    pretend = "import sysconfig\nsysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1\n"
    setup.write_text(pretend + setup.read_text())
    wheel, printed = environment.build(project, tmp_path / "wheels")
    assert wheel.name == "toy-1-py3-none-any.whl"
    assert "it does not support free-threaded Python" in printed
