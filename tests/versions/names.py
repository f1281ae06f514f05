"""The private names of the clients that lazyentity uses, found in its sources and theirs."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

from lazyentity.patches.clients import CLIENTS

API_PACKAGES = ("google.cloud.datastore_v1", "google.api_core", "proto")
"""The packages below the clients, which import nothing of them."""

PACKAGES = (*(client.waits_for_import for client in CLIENTS.values()), *API_PACKAGES)
"""A module or class whose private name a later version may change."""

_ROOT = Path(__file__).parents[2]
_PRIVATE = re.compile(r"\b_(?!_)\w+")


def _names_in_python(source: str) -> Iterator[str]:
    """Give each name that the code looks up: by a dot, an import, or a string."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(attr=name):
                yield name
            case ast.ImportFrom(module=str(module), names=aliases):
                yield from module.split(".")
                yield from (alias.name for alias in aliases)
            case ast.Constant(value=str(text)) if re.fullmatch(r"[\w.]+", text):
                yield from text.split(".")


def _used() -> set[str]:
    names: set[str] = set()
    for folder in ("lazyentity", "patches"):
        for source in (_ROOT / folder).rglob("*.py"):
            names.update(_names_in_python(source.read_text(encoding="utf-8")))
        for source in (_ROOT / folder).rglob("*.p[yx][xd]"):
            names.update(re.findall(r"[.\"'](_\w+)", source.read_text(encoding="utf-8")))
    return {name for name in names if _PRIVATE.fullmatch(name)}


def sources_of(package: str) -> list[Path]:
    """Return the sources of an installed package; none, if it is not installed."""
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        # Not even a package around it is installed.
        return []
    folders = [] if spec is None else spec.submodule_search_locations or []
    return sorted(source for folder in folders for source in Path(folder).rglob("*.py"))


@functools.cache
def names_in(packages: tuple[str, ...]) -> frozenset[str]:
    """Return every private name that occurs in the sources of packages."""
    return frozenset(
        name
        for package in packages
        for source in sources_of(package)
        for name in _PRIVATE.findall(source.read_text(encoding="utf-8"))
    )


def private_names() -> list[str]:
    """Return every private name that occurs in the sources of lazyentity and of a client.

    Among them are names that the two have in common by chance.
    """
    return sorted(_used() & names_in(PACKAGES))
