"""Applications with modules that are named like libraries start as without lazyentity."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lazyentity.cli.run import BOOTSTRAP
from lazyentity.patches.adapters.table import LIBRARIES
from tests.support.subprocesses import last_line, run

_ADAPTED = {name.partition(".")[0] for each in LIBRARIES for name in each.names}
# Those that Python's own json and random are made of are no names for a module of an application.
NAMES = sorted({"apache_beam", "click", "gcloud", "packaging", "rich", "zstandard"} | _ADAPTED)
"""Libraries that lazyentity or its commands import, or wait for; all but wrapt."""

# Looks like what the adapters replace, and must not be touched.
_FOREIGN = """
MARK = "application"
def dumps(value): return value
encode = lit = to_json = execute = _dict_to_bson = array = packb = dumps
class Map:
    def __init__(self, *args): self.args = args
FUNCTIONS = dict(vars())
"""

_PROGRAM = """
{start}
import importlib, json
foreign = {{}}
for name in {names}:
    module = importlib.import_module(name)
    same = all(vars(module)[key] is value for key, value in module.FUNCTIONS.items())
    foreign[name] = [module.MARK, same, type(module.Map({{}})).__module__]
import google.cloud.datastore
code = google.cloud.datastore.helpers.entity_from_protobuf.__code__
is_stock = code.co_filename == google.cloud.datastore.helpers.__file__
print(json.dumps([foreign, is_stock]))
"""

_AUTO = "import lazyentity.auto"
_STARTS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "in the program": (_AUTO, (), {}),
    "lazyentity run": ("", ("-m", "lazyentity", "run"), {}),
    "before any program": ("", (), {"PYTHONPATH": BOOTSTRAP}),
}


@pytest.mark.parametrize("way", _STARTS)
def test_modules_of_the_application(tmp_path: Path, way: str) -> None:
    """It gets its own, nothing in them is replaced, and the client is patched."""
    start, how, environment = _STARTS[way]
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(_FOREIGN)
    (tmp_path / "program.py").write_text(_PROGRAM.format(start=start, names=NAMES))
    finished = run(*how, str(tmp_path / "program.py"), folder=tmp_path, **environment)
    foreign, is_stock = last_line(finished)
    assert foreign == {name: ["application", True, name] for name in NAMES}
    assert not is_stock


def _told(folder: Path, *arguments: str, **environment: str) -> tuple[str, str]:
    """Run an interpreter, which must not fail; return what it printed, and its standard error."""
    finished = run(*arguments, folder=folder, **environment)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout, finished.stderr


def test_wrapt_is_not_run(tmp_path: Path) -> None:
    """It is the application's, and may do anything. One warning, at its line, says so."""
    (tmp_path / "wrapt.py").write_text("raise SystemExit('this was run')")
    program = f"{_AUTO}, lazyentity; lazyentity.patch(); assert lazyentity.patched() == ()"
    (tmp_path / "program.py").write_text(program)
    _, told = _told(tmp_path, "program.py")
    assert told.count("RuntimeWarning") == 1
    assert "is not the library wrapt; rename it" in told
    assert f"{tmp_path / 'program.py'}:1: RuntimeWarning" in told


def test_switched_off_imports_nothing(tmp_path: Path) -> None:
    program = f"{_AUTO}, sys, json; print(json.dumps([*sys.modules]))"
    printed, _ = _told(tmp_path, "-c", program, LAZYENTITY_DISABLE="1")
    # An editable installation has a finder.
    ours = (name for name in json.loads(printed) if not name.startswith("__editable__"))
    loaded = {name for name in ours if "lazyentity" in name}
    assert loaded == {"lazyentity"} | {
        f"lazyentity.{name}" for name in ("_environment", "_version", "auto")
    }
