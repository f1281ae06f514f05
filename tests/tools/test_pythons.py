"""The supported Pythons are those of one list, wherever they are named."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from lazyentity._version import PYTHONS
from tools import ci_environments
from tools.ci_environments import NEWEST, OLDEST

pytestmark = pytest.mark.any_backend

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
_RANGE = f"{OLDEST} to {NEWEST}"
_TAGS = [f"cp{version.replace('.', '')}" for version in PYTHONS]
_WHEELS = " ".join(f"{tag}-*" for tag in _TAGS)
_QUOTED = ", ".join(f'"{version}"' for version in PYTHONS)


def _read(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def test_the_list() -> None:
    """It is in order, without a gap."""
    minors = [int(version.removeprefix("3.")) for version in PYTHONS]
    assert minors == list(range(minors[0], minors[-1] + 1))
    assert ci_environments.PYTHONS == PYTHONS


def test_the_metadata() -> None:
    declared = metadata.metadata("lazyentity")
    classifiers = declared.get_all("Classifier") or []
    prefix = "Programming Language :: Python :: 3."
    named = [one.removeprefix(prefix[:-2]) for one in classifiers if one.startswith(prefix)]
    assert named == list(PYTHONS)
    assert declared["Requires-Python"] == f">={OLDEST}"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("README.rst", f"CPython {_RANGE}."),
        ("docs/start/quickstart.rst", f"CPython {_RANGE} "),
        ("docs/clients/versions.rst", f"CPython {_RANGE} "),
        ("docs/command-line.rst", f"(supported: {_RANGE})"),
        ("CONTRIBUTING.rst", f"Python {OLDEST} or newer"),
        ("Makefile", f"sys.version_info < (3, {OLDEST.removeprefix('3.')})"),
        ("Makefile", f"lazyentity needs Python {OLDEST} or newer"),
        ("pyproject.toml", f'target-version = "py{_TAGS[0].removeprefix("cp")}"'),
        ("pyproject.toml", f'build = "{_WHEELS}"'),
        (".github/workflows/ci.yml", f"python: [{_QUOTED}]"),
        (".github/workflows/ci.yml", f"Python/3.1[{OLDEST[-1]}-{NEWEST[-1]}].*/"),
    ],
)
def test_texts(page: str, text: str) -> None:
    assert text in _read(page)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows(path: Path) -> None:
    """They run no Python that is not supported."""
    named = re.findall(r"python(?:-version)?: \"(3\.\d+)\"", path.read_text("utf-8"))
    assert set(named) <= set(PYTHONS)
