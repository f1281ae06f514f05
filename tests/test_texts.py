"""Values of a caller get into texts by the functions of a single module, which cannot fail."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[1]
# The command line has strings from its arguments and from the environment.
FOLDERS = ("lazyentity", "patches")
COMMANDS = "lazyentity/cli"

STRINGS = {
    ("lazyentity/bulk/rpcs.py", "ours"),
    ("lazyentity/bulk/rpcs.py", "theirs"),
    ("lazyentity/__init__.py", "__name__"),
    ("lazyentity/__init__.py", "name"),
    ("lazyentity/_choice.py", "requested"),
    # Nothing of lazyentity can be imported there.
    ("lazyentity/auto.py", "error"),
    ("lazyentity/_classes.py", "self.name"),
    ("lazyentity/entity.py", "owner.__name__"),
    ("lazyentity/entity.py", "self._name"),
    ("lazyentity/profiling/environment.py", "value"),
    ("lazyentity/profiling/findings.py", "list(usual)"),
    ("lazyentity/packed/__init__.py", "__name__"),
    ("lazyentity/packed/__init__.py", "name"),
    # From the arguments of the command.
    ("lazyentity/packed/command.py", "kind"),
    ("lazyentity/packed/command.py", "name"),
    ("lazyentity/packed/format.py", "MAGIC"),
    ("lazyentity/packed/format.py", "bytes(data[:4])"),
    ("lazyentity/packed/jsonbytes.py", "MAGIC"),
    ("lazyentity/packed/properties.py", "option"),
    ("lazyentity/snapshot/payloads.py", "dictionary"),
    ("lazyentity/snapshot/command.py", "kind"),
    ("lazyentity/snapshot/schema.py", "name"),
    ("lazyentity/snapshot/snapshots.py", "str(self.path)"),
    ("patches/appengine/ndb/debugging.py", "name"),
    ("patches/beam/elements.py", "owner.__name__"),
    ("patches/beam/elements.py", "self._name"),
    ("patches/clients.py", "client.name"),
    ("patches/clients.py", "unknown[0]"),
    ("patches/datastore/wrapping.py", "slots[0]"),
    ("patches/registry.py", "attribute"),
}
"""Expressions that have strings and bytes of lazyentity, of an import statement or of a class."""


def _formatted(path: Path) -> Iterator[str]:
    """Yield the expressions whose ``repr()`` a module puts into a text."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FormattedValue) and node.conversion in (ord("r"), ord("a")):
            yield ast.unparse(node.value)


def test_representations_are_made_by_the_module_that_describes() -> None:
    """Of any value that may be a caller's, use ``safe_repr()`` or another function of it."""
    found = {
        (str(path.relative_to(ROOT)), expression)
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if not str(path.relative_to(ROOT)).startswith(COMMANDS)
        for expression in _formatted(path)
    }
    assert found == STRINGS
