"""Counters of OpenTelemetry, with its own SDK as the reader."""

from __future__ import annotations

import importlib.util

import pytest
from opentelemetry import metrics as api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import lazyentity
from lazyentity.profiling import metrics
from tests.profiling.receiving import BACKENDS, FIVE, Response


def test_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(api, "get_meter", provider.get_meter)
    metrics.register.cache_clear()
    with lazyentity.profile() as profile:
        before = _read(reader)
        for entity in Response(BACKENDS[0], [FIVE] * 4).entities():
            entity["a"]
        after = _read(reader)
    added = {name: number - before.get(name, 0) for name, number in after.items()}
    assert added == {
        "lazyentity.entities": 4,
        "lazyentity.entities.size": 4 * len(FIVE),
        "lazyentity.properties": 20,
        "lazyentity.properties.decoded": 4,
        "lazyentity.sentinels": 0,
    }
    assert profile.report().kinds[0].entities == 4
    provider.shutdown()
    metrics.register.cache_clear()


def _read(reader: InMemoryMetricReader) -> dict[str, int]:
    data = reader.get_metrics_data()
    assert data is not None
    return {
        metric.name: sum(
            point.value  # type: ignore[union-attr, misc]  # counters have numbers
            for point in metric.data.data_points
            if point.attributes in ({"kind": "Kind"}, {})
        )
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def test_without_the_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    metrics.register.cache_clear()
    assert not metrics.register(dict)
    metrics.register.cache_clear()
