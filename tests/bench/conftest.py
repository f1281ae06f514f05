from __future__ import annotations

from typing import Any

import pytest
from google.cloud.datastore import Entity

from lazyentity.bench.harness import sides


@pytest.fixture(autouse=True)
def _for_small_lines(only_new_objects: None, kept_servers: None) -> None:
    """Measuring begins with a collection, and mostly with a server."""


@pytest.fixture
def wrong_lazy_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the lazy side give another value of text_000 than stock."""

    def wrong(response: Any) -> list[Entity]:
        entities = sides.STOCK.convert(response)
        for entity in entities:
            entity["text_000"] += "!"
        return entities

    monkeypatch.setattr(sides, "LAZY", sides.Side(sides.STOCK.deserialize, wrong))
