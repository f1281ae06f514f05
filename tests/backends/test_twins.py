"""The two backends have the same names and modules; stubs describe the compiled modules."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lazyentity import _backend, _choice

PACKAGE = Path(_backend.__file__).parent
BACKENDS = ["pure", "native"]
SOURCES = sorted(path.stem for path in (PACKAGE / "native").glob("*.pyx"))
STUBS = sorted(path.stem for path in (PACKAGE / "native").glob("*.pyi"))


@pytest.mark.parametrize("name", BACKENDS)
def test_names(name: str) -> None:
    """Each backend exports the names of the Protocol, no more and no less."""
    module = importlib.import_module(f"lazyentity.{name}.backend")
    assert sorted(module.__all__) == sorted(_backend.NAMES)
    assert all(hasattr(module, exported) for exported in module.__all__)


def test_the_chosen_names_are_those_of_one_backend() -> None:
    chosen = importlib.import_module(f"lazyentity.{_backend.backend}.backend")
    for name in _backend.NAMES:
        assert getattr(_backend, name) is getattr(chosen, name)


def test_modules() -> None:
    """Only what is in codec/ for the pure backend is in native/ alone."""
    pure = {path.stem for path in (PACKAGE / "pure").glob("*.py")}
    native = {*SOURCES, *(path.stem for path in (PACKAGE / "native").glob("*.py"))}
    codec = {path.stem for path in (PACKAGE / "codec").glob("*.py")}
    assert pure - native == set()
    assert native - pure <= codec
    assert native - pure == {"timestamps", "undecoded", "values"}


@pytest.mark.parametrize("name", ["LazyMapping", "EntityBytes", "ResultBytes", "Walk"])
def test_public_members(name: str) -> None:
    """A class has the same public names in both backends, the operations of dict included."""
    pure, native = (
        {member for member in dir(_attribute(backend, name)) if not member.startswith("_")}
        for backend in BACKENDS
    )
    # A class attribute of the pure one that is only annotated.
    assert native ^ pure <= {"eager"}


def _attribute(backend: str, name: str) -> Any:
    return getattr(importlib.import_module(f"lazyentity.{backend}.backend"), name)


def test_every_compiled_module_has_a_stub() -> None:
    assert STUBS == SOURCES
    assert list(_choice.NATIVE_MODULES) == [f"lazyentity.native.{name}" for name in SOURCES]


def _names(body: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    for statement in body:
        match statement:
            case ast.ClassDef(name=name, body=inner) | ast.FunctionDef(name=name, body=inner):
                yield name, inner if isinstance(statement, ast.ClassDef) else []
            case ast.AnnAssign(
                target=ast.Name(id=name), annotation=ast.Name() | ast.Subscript() as kind
            ) if not ast.unparse(kind).startswith("ClassVar"):
                yield name, []


@pytest.mark.parametrize("name", STUBS)
def test_stubs(name: str) -> None:
    """The declarations of a stub are there, the methods of its classes included."""
    module = importlib.import_module(f"lazyentity.native.{name}")
    stub = ast.parse((PACKAGE / "native" / f"{name}.pyi").read_text(encoding="utf-8"))
    for declared, body in _names(stub.body):
        value = getattr(module, declared)
        for member, _ in _names(body):
            assert hasattr(value, member), f"{declared}.{member}"


@pytest.mark.parametrize("name", STUBS)
def test_stubs_are_whole(name: str) -> None:
    """Public functions and classes of a compiled module are in its stub."""
    module = importlib.import_module(f"lazyentity.native.{name}")
    stub = ast.parse((PACKAGE / "native" / f"{name}.pyi").read_text(encoding="utf-8"))
    declared = {found for found, _ in _names(stub.body)}
    kinds = ("cython_function_or_method", "builtin_function_or_method")
    defined = {
        found
        for found, value in vars(module).items()
        if not found.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and (isinstance(value, type) or type(value).__name__ in kinds)
    }
    assert defined <= declared
