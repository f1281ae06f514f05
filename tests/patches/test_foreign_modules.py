"""Applications with modules that are named like libraries start as without lazyentity."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from lazyentity.cli.run import BOOTSTRAP
from lazyentity.patches.adapters.table import LIBRARIES
from tests.support import forks
from tests.support.subprocesses import last_line, run

_ADAPTED = {name.partition(".")[0] for each in LIBRARIES for name in each.names}
# Those that Python's own json and random are made of are no names for a module of an application.
NAMES = sorted(
    {"apache_beam", "click", "gcloud", "packaging", "rich", "wrapt", "zstandard"} | _ADAPTED
)
"""Libraries that lazyentity or its commands import, or wait for."""

# Looks like what the adapters replace, and must not be touched.
_FOREIGN = """
MARK = "application"
def dumps(value): return value
encode = lit = to_json = execute = _dict_to_bson = array = packb = dumps
class Map:
    def __init__(self, *args): self.args = args
class LRU:
    def update(self, value): return value
class Encoder:
    def encode(self, value): return value
CBOREncoder = Encoder
FUNCTIONS = dict(vars())
"""

_PROGRAM = """
import json, sys, warnings
told = []
warnings.simplefilter("always")
warnings.showwarning = lambda message, *rest: told.append(str(message))
{start}
import importlib
foreign = {{}}
for name in {names}:
    module = importlib.import_module(name)
    same = all(vars(module)[key] is value for key, value in module.FUNCTIONS.items())
    foreign[name] = [module.MARK, same, type(module.Map({{}})).__module__]
import google.cloud.datastore
code = google.cloud.datastore.helpers.entity_from_protobuf.__code__
print(json.dumps({{
    "foreign": foreign,
    "is_stock": code.co_filename == google.cloud.datastore.helpers.__file__,
    "told": [text for text in told if "lazyentity" in text],
    "loaded": sorted({{name.partition(".")[0] for name in sys.modules}}),
}}))
"""


def _in_package(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name / "__init__.py"


def _started(
    folder: Path,
    start: str,
    *names: str,
    how: tuple[str, ...] = (),
    forked: bool = False,
    **environment: str,
) -> dict[str, Any]:
    """Run a program that imports modules of these names from its folder, then the client."""
    for name in names:
        if not (folder / name).exists():
            (folder / f"{name}.py").write_text(_FOREIGN)
    program = _PROGRAM.format(start=start, names=names)
    if forked:
        finished = forks.run("-c", program, PYTHONPATH=str(folder), **environment)
    else:
        (folder / "program.py").write_text(program)
        finished = run(*how, str(folder / "program.py"), folder=folder, **environment)
    answer: dict[str, Any] = last_line(finished)
    assert answer["foreign"] == {name: ["application", True, name] for name in names}
    return answer


@pytest.fixture(scope="module")
def loaded_before() -> set[str]:
    """The modules that a forked process has from its start."""
    program = "import json, sys; print(json.dumps([*sys.modules]))"
    return {name.partition(".")[0] for name in forks.answer("-c", program)}


_AUTO = "import lazyentity.auto"


@pytest.mark.parametrize("name", NAMES)
def test_a_module_of_the_application(tmp_path: Path, name: str, loaded_before: set[str]) -> None:
    """At most one warning; the client is patched, unless lazyentity itself needs the library."""
    told = _started(tmp_path, _AUTO, name, forked=name not in loaded_before)
    assert told["is_stock"] is (name == "wrapt")
    shadowed = name in _ADAPTED and _is_installed(name)
    assert len(told["told"]) <= (name == "wrapt" or shadowed)


def _is_installed(module: str) -> bool:
    names = [each.distribution for each in LIBRARIES if module in str(each.names)]
    try:
        return bool([metadata.version(name) for name in names])
    except metadata.PackageNotFoundError:
        return False


def _told(folder: Path, *arguments: str, **environment: str) -> tuple[str, str]:
    """Run an interpreter, which must not fail; return what it printed, and its standard error."""
    finished = run(*arguments, folder=folder, **environment)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout, finished.stderr


@pytest.mark.parametrize("make", [lambda folder, name: folder / f"{name}.py", _in_package])
def test_wrapt_is_not_run(tmp_path: Path, make: Any) -> None:
    """It is the application's, and may do anything. One warning says that nothing is patched."""
    make(tmp_path, "wrapt").write_text("raise SystemExit('this was run')")
    program = f"{_AUTO}, lazyentity; lazyentity.patch(); assert lazyentity.patched() == ()"
    (tmp_path / "program.py").write_text(program)
    _, told = _told(tmp_path, "program.py")
    assert told.count("RuntimeWarning") == 1
    assert "is not the library wrapt; rename it" in told


def test_strictly(tmp_path: Path) -> None:
    start = (
        "import lazyentity\ntry: lazyentity.patch(strict=True)\n"
        "except RuntimeError as error: warnings.warn(str(error))"
    )
    (told,) = _started(tmp_path, start, "wrapt")["told"]
    assert "nothing is patched" in told


@pytest.mark.parametrize("how", [(), ("-m", "lazyentity", "run")])
def test_patched_before_the_program_starts(tmp_path: Path, how: tuple[str, ...]) -> None:
    """The program gets its own modules, but for wrapt, which was imported before."""
    environment: Any = {} if how else {"PYTHONPATH": BOOTSTRAP}
    names = [name for name in NAMES if name != "wrapt"]
    told = _started(tmp_path, "", *names, how=how, **environment)
    assert not told["is_stock"]


@pytest.mark.parametrize("start", [_AUTO, "import lazyentity; lazyentity.patch()"])
def test_switched_off(tmp_path: Path, start: str) -> None:
    """Nothing but the environment is read: no library is imported, nor looked for."""
    stock = _started(tmp_path, "", *NAMES)
    off = _started(tmp_path, start, *NAMES, LAZYENTITY_DISABLE="1", LAZYENTITY_PROFILE="1")
    assert off["told"] == []
    assert off["is_stock"]
    assert set(off["loaded"]) - set(stock["loaded"]) <= {"lazyentity", *sys.stdlib_module_names}


def test_switched_off_imports_nothing(tmp_path: Path) -> None:
    program = f"{_AUTO}, sys, json; print(json.dumps([*sys.modules]))"
    printed, _ = _told(tmp_path, "-c", program, LAZYENTITY_DISABLE="1")
    # An editable installation has a finder.
    ours = (name for name in json.loads(printed) if not name.startswith("__editable__"))
    loaded = {name for name in ours if "lazyentity" in name}
    assert loaded == {"lazyentity"} | {
        f"lazyentity.{name}" for name in ("_environment", "_version", "auto")
    }


@pytest.mark.parametrize("name", ["dataclasses", "inspect"])
def test_a_module_named_like_one_of_python(tmp_path: Path, name: str) -> None:
    """The program starts; one warning says that nothing is patched."""
    (tmp_path / f"{name}.py").write_text("MARK = 1")
    (tmp_path / "program.py").write_text(f"{_AUTO}, {name}; print({name}.MARK)")
    printed, told = _told(tmp_path, "program.py")
    assert printed == "1\n"
    assert told.count("RuntimeWarning") == 1


@pytest.mark.parametrize("command", ["doctor", "bench", "snapshot", "run"])
def test_commands(tmp_path: Path, command: str) -> None:
    """They import what they need from where it is installed, and not from the current folder."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this was run')")
    printed, _ = _told(tmp_path, "-m", "lazyentity", command, "--help")
    assert "usage" in printed.lower()
