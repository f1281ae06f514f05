"""Print the lowest supported versions of lazyentity's requirements, as requirements.

The requirements are those of the library itself, or of the extra named on the command line.
"""

from __future__ import annotations

import sys
from importlib import metadata

from packaging.requirements import Requirement


def lowest(extra: str) -> list[str]:
    """Return a requirement on exactly the lowest version for each requirement with a lower bound.

    Args:
        extra: the extra; the empty string for the requirements of the library itself.
    """
    return [
        f"{requirement.name}=={bound.version}"
        for requirement in map(Requirement, metadata.requires("lazyentity") or ())
        if (requirement.marker is None) == (not extra)
        and (requirement.marker is None or requirement.marker.evaluate({"extra": extra}))
        for bound in requirement.specifier
        if bound.operator == ">="
    ]


if __name__ == "__main__":
    found = lowest(*sys.argv[1:] or [""])
    if not found:
        raise SystemExit("there are no requirements with a lowest version")
    print(*found)
