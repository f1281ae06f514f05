"""The command of setup.py that compiles the native backend, on a toy of it."""

from __future__ import annotations

import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.packaging.environments import Environment

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PLATFORM = sysconfig.get_platform().replace("-", "_")
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
