"""Which modules import which: a client's package is known to the list of clients alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lazyentity.patches.clients import PACKAGES
from tools.clients import REQUIRED

_ROOT = Path(__file__).parents[2]
_EXTRAS = [name for name in PACKAGES if name != REQUIRED]


def _imports(source: Path) -> Iterator[str]:
    """Give the dotted name of everything that a module imports, at any time."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=aliases):
                yield from (alias.name for alias in aliases)
            case ast.ImportFrom(module=str(module), names=aliases):
                yield from (f"{module}.{alias.name}" for alias in aliases)


def _importing(folder: str, *packages: str) -> list[tuple[str, str]]:
    """Return each import of one of the packages by a module in a folder, with the module."""
    return [
        (str(source.relative_to(_ROOT)), name)
        for source in sorted((_ROOT / folder).rglob("*.py"))
        for name in _imports(source)
        if f"{name}.".startswith(tuple(f"{package}." for package in packages))
    ]


@pytest.mark.parametrize("client", PACKAGES)
def test_clients_do_not_import_each_other(client: str) -> None:
    others = [f"lazyentity.patches.{name}" for name in PACKAGES if name != client]
    assert _importing(f"patches/{client}", *others) == []
    assert _importing(f"patches/{client}", f"lazyentity.patches.{client}") != []


def test_the_api_knows_no_client() -> None:
    """Neither the patches of one nor a client library; the messages are all that it imports."""
    patches = (f"lazyentity.patches.{name}" for name in PACKAGES)
    assert _importing("patches/api", *patches, "google.cloud.datastore", "google.cloud.ndb") == []
    assert _importing("patches/api", "google.cloud.datastore_v1") != []


def test_the_core_knows_no_patches() -> None:
    """The two modules that an application imports are all that does, and wrap() is made there."""
    found = {module for module, _ in _importing("lazyentity", "lazyentity.patches")}
    assert found == {"lazyentity/__init__.py", "lazyentity/auto.py"}


@pytest.mark.parametrize("client", _EXTRAS)
def test_nothing_else_names_a_client(client: str) -> None:
    """Only its package and the list do: the core, other patches, setup.py and the tools do not."""
    sources = [_ROOT / "setup.py", *(_ROOT / "tools").iterdir()]
    for folder in ("lazyentity", "patches"):
        sources += [*(_ROOT / folder).rglob("*.py"), *(_ROOT / folder).rglob("*.p[yx][xdi]")]
    naming = {
        str(source.relative_to(_ROOT))
        for source in sources
        if source.is_file()
        and _ROOT / "patches" / client not in source.parents
        and re.search(rf"\b{client}\b", source.read_text(encoding="utf-8"))
    }
    assert naming == {"patches/clients.py"}
