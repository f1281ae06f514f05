"""The text on the page of a package index is valid, and no link of it leads nowhere."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import docutils.core
import docutils.nodes

README = Path(__file__).parents[2] / "README.rst"


def addresses(text: str) -> list[str]:
    """Return the targets of all links and images of a text, which has to be without warnings."""
    tree = docutils.core.publish_doctree(text, settings_overrides={"halt_level": 1})
    links = [link["refuri"] for link in tree.findall(docutils.nodes.reference)]
    return links + [image["uri"] for image in tree.findall(docutils.nodes.image)]


def test_links() -> None:
    """A link to a file is its text, and the path of the file in the source distribution."""
    text = README.read_text("utf-8")
    shown = metadata.metadata("lazyentity").get_payload()
    assert isinstance(shown, str)
    assert addresses(shown) == []
    assert addresses(text)
    for address in addresses(text):
        assert (README.parent / address).exists()
        assert address.endswith(".svg") or f"(``{address}``)" in " ".join(shown.split())


def test_the_licence_and_the_author() -> None:
    """The licence is an expression, which tools can read; the author is the project."""
    declared = metadata.metadata("lazyentity")
    assert declared["License-Expression"] == "Apache-2.0"
    assert "License" not in declared
    assert "License ::" not in str(declared.get_all("Classifier"))
    assert declared["Author"] == "The lazyentity maintainers"
