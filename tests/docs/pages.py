"""The pages of the documentation and what they hold."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

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
