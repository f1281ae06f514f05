"""The two backends have the same names and modules; stubs describe the compiled modules."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from lazyentity import _backend, _choice
from lazyentity._backend import abc, entities, wireformats

PACKAGE = Path(_choice.__file__).parent
BACKENDS = ["pure", "native"]
SOURCES = sorted(path.stem for path in (PACKAGE / "native").glob("*.pyx"))
STUBS = sorted(path.stem for path in (PACKAGE / "native").glob("*.pyi"))
INCLUDED = {
    name: re.findall(
        r'^include "(\w+)\.pyx"$',
        (PACKAGE / "native" / f"{name}.pyx").read_text("utf-8"),
        re.MULTILINE,
    )
    for name in SOURCES
}


@pytest.mark.parametrize("name", BACKENDS)
def test_names(name: str) -> None:
    """Each backend exports the names of the Protocol, no more and no less."""
    module = importlib.import_module(f"lazyentity.{name}.backend")
    assert sorted(module.__all__) == sorted(abc.NAMES)
    assert all(hasattr(module, exported) for exported in module.__all__)


def test_the_chosen_names_are_those_of_one_backend() -> None:
    chosen = importlib.import_module(f"lazyentity.{_backend.backend}.backend")
    for name in abc.NAMES:
        assert getattr(_backend, name) is getattr(chosen, name)


def test_modules() -> None:
    """Only what is in codec/ for the pure backend, and files of includes, are in native/ alone."""
    pure = {path.stem for path in (PACKAGE / "pure").glob("*.py")}
    native = {*SOURCES, *(path.stem for path in (PACKAGE / "native").glob("*.py"))}
    codec = {path.stem for path in (PACKAGE / "codec").glob("*.py")}
    assert pure - native == set()
    assert native - pure == {"timestamps", "undecoded", "values", "entities"}
    assert native - pure <= {*codec, *(name for name in SOURCES if INCLUDED[name])}


def test_every_source_is_compiled_into_one_module() -> None:
    included = [name for names in INCLUDED.values() for name in names]
    assert sorted([*STUBS, *included]) == SOURCES


def test_every_compiled_module_has_a_stub() -> None:
    assert list(_choice.NATIVE_MODULES) == [f"lazyentity.native.{name}" for name in STUBS]
    suffix = EXTENSION_SUFFIXES[0]  # the folder may have the modules of other Pythons, too
    compiled = {path.name.removesuffix(suffix) for path in (PACKAGE / "native").glob(f"*{suffix}")}
    assert compiled <= set(STUBS), "of sources that are gone: they would still be imported"


def _names(body: list[ast.stmt]) -> Iterator[tuple[str, list[ast.stmt]]]:
    for statement in body:
        match statement:
            case ast.ClassDef(name=name, body=inner) | ast.FunctionDef(name=name, body=inner):
                yield name, inner if isinstance(statement, ast.ClassDef) else []
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name, []


DECLARED = {
    name: [member for member, _ in _names(body)]
    for module in (abc, entities, wireformats)
    for name, body in _names(ast.parse(inspect.getsource(module)).body)
}
# The classes of a backend, and the protocol of each.
CLASSES = {
    name: get_type_hints(attribute.fget)["return"].__args__[0].__name__
    for name, attribute in vars(abc.Backend).items()
    if isinstance(attribute, property)
}


def _attribute(backend: str, name: str) -> Any:
    return getattr(importlib.import_module(f"lazyentity.{backend}.backend"), name)


def test_every_class_is_held_against_its_protocol() -> None:
    classes = {name for name in abc.NAMES if isinstance(_attribute("pure", name), type)}
    assert classes == CLASSES.keys()
    assert all(DECLARED[protocol] for protocol in CLASSES.values())


@pytest.mark.parametrize("name", CLASSES)
def test_members(name: str) -> None:
    """Both backends have the same public names, names of dict included, and all that is declared.

    Every member of the native class is declared. Other underscored names of the pure class are its
    own: Cython hides the native names.
    """
    public = []
    for backend in BACKENDS:
        kind, declared = _attribute(backend, name), DECLARED[CLASSES[name]]
        for member in declared:
            assert getattr(kind, member) is not getattr(object, member, None), member
        public.append({member for member in dir(kind) if not member.startswith("_")})
        inherited = dir(dict if issubclass(kind, dict) else object)
        members = {member for member in dir(kind) if not member.startswith("__")}
        assert (public[-1] if backend == "pure" else members) - {*inherited} <= {*declared}
    assert public[0] == public[1]


@pytest.mark.parametrize("member", DECLARED["LazyMapping"])
def test_members_of_a_mapping_are_in_twin_files(member: str) -> None:
    """A file and the file of the same name do the same, but for what pure has from the codec."""
    pure, native = (
        next(base for base in _attribute(backend, "LazyMapping").__mro__ if member in vars(base))
        for backend in BACKENDS
    )
    if pure.__module__ != "lazyentity.storage.lazydict":
        source = PACKAGE / "native" / f"{pure.__module__.rpartition('.')[2]}.pyx"
        assert f"\ncdef class {native.__name__}(" in source.read_text("utf-8")


@pytest.mark.parametrize("backend", BACKENDS)
def test_docstrings_refer_to_documented_members(backend: str) -> None:
    """A backend documents what both have in common by naming the member of a protocol."""
    texts = [path.read_text("utf-8") for path in (PACKAGE / backend).glob("*.py*")]
    found = {
        name
        for text in texts
        for name in re.findall(r"`(lazyentity\._backend\.\w+\.[.\w]+)`", text)
    }
    assert len(found) > 60
    for name in found:
        module, owner, *member = name.removeprefix("lazyentity._backend.").split(".")
        documented: Any = vars(importlib.import_module(f"lazyentity._backend.{module}"))[owner]
        for each in member:
            documented = vars(documented)[each]
        assert documented.__doc__, name


@pytest.mark.parametrize("backend", BACKENDS)
def test_declared_members_of_a_shape(backend: str) -> None:
    shape = type(_attribute(backend, "LazyMapping")()._shape)
    assert all(hasattr(shape, member) for member in DECLARED["Shape"])


@pytest.mark.parametrize("name", STUBS)
def test_stubs(name: str) -> None:
    """The module has all that its stub declares, which has its public functions and classes."""
    module = importlib.import_module(f"lazyentity.native.{name}")
    stub = ast.parse((PACKAGE / "native" / f"{name}.pyi").read_text(encoding="utf-8"))
    for declared, body in _names(stub.body):
        value = getattr(module, declared)
        for member, _ in _names(body):
            assert hasattr(value, member), f"{declared}.{member}"
    kinds = ("cython_function_or_method", "builtin_function_or_method")
    defined = {
        found
        for found, value in vars(module).items()
        if not found.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and (isinstance(value, type) or type(value).__name__ in kinds)
    }
    assert defined <= {found for found, _ in _names(stub.body)}
