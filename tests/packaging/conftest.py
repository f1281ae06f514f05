from __future__ import annotations

from pathlib import Path

import pytest
from build import ProjectBuilder

from tests.packaging.environments import Environment

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment with the declared build requirements."""
    requirements = ProjectBuilder(ROOT).build_system_requires
    return Environment(tmp_path_factory.mktemp("environment"), requirements)
