"""Reads against Google's emulator of Firestore in native mode, stock and patched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials

import lazyentity
from tests.patches.firestore.describing import outcome
from tests.patches.firestore.emulator import Emulator, running
from tests.patches.firestore.reading import READS, WHEN, fill
from tests.patches.firestore.sides import SIDES

pytestmark = pytest.mark.emulator


@pytest.fixture(scope="module")
def emulator() -> Iterator[Emulator]:
    with running() as port:
        started = Emulator(port)
        yield started
        started.close()


def _without_times(told: Any) -> Any:
    """Return an outcome without the times of writes and reads, which differ."""
    if isinstance(told, dict):
        return {name: _without_times(each) for name, each in told.items()}
    if not isinstance(told, (list, tuple)):
        return told
    name = getattr(told[0], "__name__", "") if told else ""
    is_now = name == "Timestamp" or (
        name == "DatetimeWithNanoseconds" and f"({WHEN.year}, " not in told[1]
    )
    return [name] if is_now else [_without_times(each) for each in told]


@pytest.mark.parametrize("kind", SIDES)
@pytest.mark.parametrize("name", READS)
def test_same_results(name: str, kind: type[Any], emulator: Emulator) -> None:
    side: Any = SIDES[kind](kind(project="p", credentials=AnonymousCredentials()))

    def result() -> Any:
        emulator.clear()
        fill(emulator)
        return _without_times(outcome(lambda: READS[name](side)))

    expected = result()
    lazyentity.patch("firestore", strict=True)
    assert result() == expected
    with lazyentity.eager():
        assert result() == expected
    side.close()
