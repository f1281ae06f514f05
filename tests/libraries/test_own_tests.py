"""The adapted libraries' own tests give, patched, the outcome of each test that stock gives."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from lazyentity._choice import expected_backend
from tests.upstream.suite import Suite, fetch, outcomes, run_recorded, stock_outcomes

pytestmark = pytest.mark.upstream

_COMMON = (
    "--continue-on-collection-errors",
    # The examples of a property that is tested are the same each time.
    "--hypothesis-seed=0",
    "--benchmark-disable",
)


def _suite(
    name: str, *arguments: str, parts: tuple[str, ...] = (), is_long: bool = False, path: str = ""
) -> Suite:
    return Suite(name, parts or ("tests",), (*arguments, *_COMMON), is_long, path)


SUITES = (
    _suite("orjson", "test", parts=("test",)),
    _suite("msgspec", "tests", is_long=True),
    _suite("ujson", "tests"),
    _suite("python-rapidjson", "tests"),
    _suite("cbor2", "tests"),
    _suite("immutables", "tests"),
    # The other tests need a server.
    _suite("pymongo", "test/test_bson.py", "test/test_raw_bson.py", parts=("test",)),
    _suite("lru-dict", "test", parts=("test",)),
    _suite("mashumaro", "tests", is_long=True),
    _suite("pydantic", "tests", "--ignore=tests/benchmarks", "--ignore=tests/mypy", is_long=True),
    _suite("fastapi", "tests", parts=("tests", "docs_src"), is_long=True),
    _suite("sqlmodel", "tests", parts=("tests", "docs_src")),
)
"""Libraries whose source distribution has tests."""

_OF_PYARROW = ("array", "convert_builtin", "scalars", "table")
INSTALLED = (
    _suite("joblib", "joblib/test/test_hashing.py"),
    _suite("pandas", "pandas/tests/io/json", is_long=True),
    _suite("pyarrow", *(f"pyarrow/tests/test_{name}.py" for name in _OF_PYARROW), is_long=True),
)
"""Libraries with tests in the wheel: the tests of the modules that deal with what is adapted."""

_PLUGINS = str(Path(__file__).parents[1] / "patches" / "firestore" / "own")
FIREDANTIC = _suite("firedantic", "firedantic/tests", "-p", "coroutines", path=_PLUGINS)
OVER_FIRESTORE = (
    _suite(
        "firebase-admin",
        *("tests/test_firestore.py", "tests/test_firestore_async.py"),
        *("-p", "coroutines", "-p", "service_account"),
        path=_PLUGINS,
    ),
    FIREDANTIC,
)
"""Libraries over google-cloud-firestore, which have no adapter."""

IN_WHEELS = (*INSTALLED, FIREDANTIC)

OF_PYTHON = ("test_xml_etree", "test_xml_etree_c", "test_json", "test_copy", "test_pickle")


ALLOWED_PURE = {
    "tests/types/test_sequence.py::test_sequence_generator_fails": (
        "expects its own generator as the input of an error; the pure backend cannot decode the "
        "items of a generator but by giving pydantic another one"
    )
}
"""Tests with another outcome on the pure backend, by node id, with the reason.

docs/adapters.rst has them. The native backend has none.
"""


def _cases(suites: tuple[Suite, ...]) -> list[Any]:
    return [
        pytest.param(suite, id=suite.distribution, marks=(pytest.mark.slow,) * suite.is_long)
        for suite in suites
    ]


def _require(suite: Suite) -> None:
    try:
        metadata.version(suite.distribution)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{suite.distribution} is not installed")


def _compare(suite: Suite) -> None:
    folder = _of_wheel(suite) if suite in IN_WHEELS else fetch(suite)
    _assert_equal(stock_outcomes(suite, folder), outcomes(suite, folder, patched=True))


def _of_wheel(suite: Suite) -> Path:
    """Return the folder that has a library and the tests in its wheel."""
    spec = importlib.util.find_spec(suite.distribution)
    assert spec is not None
    assert spec.origin is not None
    # Not the folder of the library, whose modules would hide some of Python's.
    return Path(spec.origin).parents[1]


@pytest.mark.parametrize("suite", _cases((*SUITES, *INSTALLED)))
def test_adapted(suite: Suite) -> None:
    _require(suite)
    _compare(suite)


@pytest.mark.parametrize("suite", _cases(OVER_FIRESTORE))
def test_over_firestore(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    _require(suite)
    # The client comes with these libraries.
    server: Any = importlib.import_module("tests.patches.firestore.server")
    with server.DocumentServer() as running:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", f"127.0.0.1:{running.port}")
        _compare(suite)
        assert suite is not FIREDANTIC or "RunQuery" in running.calls


def _assert_equal(stock: dict[str, str], patched: dict[str, str]) -> None:
    # Otherwise nothing was shown.
    assert "passed" in stock.values()
    differing = {
        name: (stock.get(name), patched.get(name))
        for name in {*stock, *patched}
        if stock.get(name) != patched.get(name)
    }
    # Both ways: a listed test with equal outcomes is a reason that no longer holds.
    allowed = ALLOWED_PURE if expected_backend() == "pure" else {}
    assert differing.keys() == allowed.keys() & stock.keys(), differing


@pytest.mark.parametrize("module", OF_PYTHON)
def test_of_python(module: str, tmp_path: Path) -> None:
    name = f"test.{module}"
    if importlib.util.find_spec(name) is None:
        pytest.skip("this interpreter comes without its tests")
    command = [sys.executable, str(Path(__file__).with_name("program.py")), name]
    stock, patched = (run_recorded(command, tmp_path, patched=patched) for patched in (False, True))
    _assert_equal(stock, patched)
