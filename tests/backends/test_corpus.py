"""The inputs that fuzzing starts from pass its checks."""

from __future__ import annotations

from pathlib import Path

import pytest

import tests.fuzz
from tests.fuzz.checks import check

pytestmark = pytest.mark.any_backend

CORPUS = sorted(Path(tests.fuzz.__file__).with_name("corpus").iterdir())


def test_there_is_a_corpus() -> None:
    """Fuzzing starts from more than nothing."""
    assert len(CORPUS) > 50


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_each_seed(path: Path) -> None:
    """Each input of the corpus keeps the promises for any bytes."""
    check(path.read_bytes())
