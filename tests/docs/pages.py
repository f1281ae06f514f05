"""The pages of the documentation and what they hold."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import docutils.core
import docutils.nodes

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.rst"))


def name_of(page: Path) -> str:
    """Return the name that Sphinx has for a page; also the id of a test."""
    return str(page.relative_to(DOCS).with_suffix(""))


def python_blocks(text: str) -> list[str]:
    """Return the code of the blocks of Python in a page; interactive sessions are no blocks."""
    found = re.findall(r"^\.\. code-block:: python\n\n((?:   .*\n|\n)+)", text, re.MULTILINE)
    return [textwrap.dedent(block) for block in found]


def sessions(text: str) -> list[str]:
    """Return the interactive sessions that a reader of a page sees; comments are left out."""
    # Sphinx's own roles and directives are errors to docutils.
    document = docutils.core.publish_doctree(text, settings_overrides={"report_level": 5})
    return [block.astext() for block in document.findall(docutils.nodes.doctest_block)]
