"""The text on the page of a package index is valid, and its links lead somewhere."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import docutils.core
import docutils.nodes

from tools.description import description, project_urls

README = Path(__file__).parents[2] / "README.rst"
REPOSITORY = "https://example.com/lazyentity"


def addresses(text: str) -> list[str]:
    """Return the targets of all links and images of a text, which has to be without warnings."""
    tree = docutils.core.publish_doctree(text, settings_overrides={"halt_level": 1})
    links = [link["refuri"] for link in tree.findall(docutils.nodes.reference)]
    return links + [image["uri"] for image in tree.findall(docutils.nodes.image)]


def test_without_a_repository() -> None:
    """A link that leads nowhere is its text, and the path of a file of the source distribution."""
    text = README.read_text("utf-8")
    shown = description(text, "")
    assert addresses(shown) == []
    assert addresses(text)
    for address in addresses(text):
        assert address.endswith(".svg") or f"(``{address}``)" in " ".join(shown.split())
    assert project_urls("") == {}


def test_with_a_repository() -> None:
    """Each address has the path of a file of the checkout."""
    text = README.read_text("utf-8")
    found = addresses(description(text, REPOSITORY))
    assert len(found) == len(addresses(text))
    for address in found:
        assert address.startswith((f"{REPOSITORY}/blob/main/", f"{REPOSITORY}/raw/main/"))
        assert (README.parent / address.split("/main/")[1]).exists()
    assert all(url.startswith(REPOSITORY) for url in project_urls(REPOSITORY).values())


def test_the_licence_and_the_author() -> None:
    """The licence is an expression, which tools can read; the author is the project."""
    declared = metadata.metadata("lazyentity")
    assert declared["License-Expression"] == "Apache-2.0"
    assert "License" not in declared
    assert "License ::" not in str(declared.get_all("Classifier"))
    assert declared["Author"] == "The lazyentity maintainers"
