"""The two backends have the names of their protocols; a stub describes its compiled module."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

import pytest

from lazyentity import _backend, _environment
from lazyentity._backend.protocols import Backend, NativeBackend

PACKAGE = Path(_environment.__file__).parent
STUBS = sorted(path.stem for path in (PACKAGE / "native").glob("*.pyi"))


PROTOCOLS: dict[str, Any] = {"pure": Backend, "native": NativeBackend}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_names(name: str) -> None:
    """Each backend exports the names of its Protocol; mypy compares what they are."""
    declared = {
        each
        for kind in PROTOCOLS[name].__mro__
        for each in vars(kind)
        if kind.__module__ != "typing"
    }
    assert _exported(name) == {each for each in declared if not each.startswith("_")}


def _exported(name: str) -> set[str]:
    names = vars(importlib.import_module(f"lazyentity.{name}.backend"))
    return {each for each in names if not each.startswith("_")} - {"annotations"}


def test_the_chosen_names_are_those_of_one_backend() -> None:
    chosen = importlib.import_module(f"lazyentity.{_backend.backend}.backend")
    for name in _exported("pure"):
        assert getattr(_backend, name) is getattr(chosen, name)


def test_only_modules_of_these_sources_are_compiled() -> None:
    """Others would still be imported."""
    suffix = EXTENSION_SUFFIXES[0]  # the folder may have the modules of other Pythons, too
    compiled = {path.name.removesuffix(suffix) for path in (PACKAGE / "native").glob(f"*{suffix}")}
    assert {f"lazyentity.native.{name}" for name in compiled} <= set(_environment.NATIVE_MODULES)


def _names(body: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    for statement in body:
        match statement:
            case ast.ClassDef(name=name, body=inner) | ast.FunctionDef(name=name, body=inner):
                yield name, inner if isinstance(statement, ast.ClassDef) else []
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, []


@pytest.mark.parametrize("name", STUBS)
def test_stubs(name: str) -> None:
    """The module has all that its stub declares, which has its public functions and classes."""
    module = importlib.import_module(f"lazyentity.native.{name}")
    stub = ast.parse((PACKAGE / "native" / f"{name}.pyi").read_text(encoding="utf-8"))
    for declared, body in _names(stub.body):
        value = getattr(module, declared)
        for member, _ in _names(body):
            # A wrapper's __wrapped__ is an attribute of each instance.
            assert hasattr(value, member) or member == "__wrapped__", f"{declared}.{member}"
    kinds = ("cython_function_or_method", "builtin_function_or_method")
    defined = {
        found
        for found, value in vars(module).items()
        if not found.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and (isinstance(value, type) or type(value).__name__ in kinds)
    }
    assert defined <= {found for found, _ in _names(stub.body)}
