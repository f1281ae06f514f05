"""The README as a package index shows it, where no other file is there to link to."""

from __future__ import annotations

import re
from typing import Final

REPOSITORY: Final = ""
"""The address of the repository at its host; empty as long as it has none."""

_BRANCH = "main"
_LINK = re.compile(r"`([^`<]+?)\s*<([^>:]+)>`__")
_IMAGE = re.compile(r"^\.\. image:: ([^\n:]+)\n(?: +.*\n)*", re.MULTILINE)


def description(readme: str, repository: str = REPOSITORY) -> str:
    """Return the README with links to the repository.

    Without one, each link is its text and the path of its file in the source distribution.

    Args:
        readme: reStructuredText, with links and images relative to the checkout.
        repository: the address.
    """
    if not repository:
        return _IMAGE.sub("", _LINK.sub(r"\1 (``\2``)", readme))
    linked = _LINK.sub(rf"`\1 <{repository}/blob/{_BRANCH}/\2>`__", readme)
    return _IMAGE.sub(
        lambda image: image[0].replace(image[1], f"{repository}/raw/{_BRANCH}/{image[1]}", 1),
        linked,
    )


def project_urls(repository: str = REPOSITORY) -> dict[str, str]:
    """Return the addresses in the metadata of the distribution, by name."""
    if not repository:
        return {}
    return {
        "Source": repository,
        "Documentation": f"{repository}/tree/{_BRANCH}/docs",
        "Changelog": f"{repository}/blob/{_BRANCH}/CHANGELOG.rst",
        "Issues": f"{repository}/issues",
    }
