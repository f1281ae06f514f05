"""A profile counts the entities that every client reads, and the properties read of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

import lazyentity
from tests.patches.clients.conftest import READING_EAGERLY
from tests.patches.clients.subjects import KIND, Subject


def test_lazy_entities(subject: Subject, is_lazy: Callable[[], bool]) -> None:
    """At the lines that read them, by kind; outside of the profile nothing is counted."""
    lazyentity.patch(subject.client, strict=True)
    with lazyentity.profile() as profile:
        assert is_lazy()
    report = profile.report()
    (kind,) = report.kinds
    assert (kind.kind, kind.entities, kind.eager) == (KIND, subject.entities, 0)
    assert kind.bytes > 0
    decoded = {each.name: each.decoded for each in kind.properties if each.decoded}
    assert decoded == {"number": subject.entities}
    assert "number" in profile.table()
    assert {reads.site.file for reads in report.sites} == {subject.reader}
    for suggestion in (reads.suggestion for reads in report.sites):
        if subject.client == "datastore":
            assert suggestion.options == "prefetch=['number'], strict=True"
        else:
            assert not suggestion.options
            assert "wrap() takes only" in suggestion.reason
    assert is_lazy()
    assert profile.report().kinds == report.kinds


@pytest.mark.parametrize("activation", ["patch", "eager()"])
@pytest.mark.parametrize("subject", READING_EAGERLY, indirect=True)
def test_stock_entities(subject: Subject, is_lazy: Callable[[], bool], activation: str) -> None:
    lazyentity.patch(subject.client, strict=True, eager=activation == "patch")
    eager = contextlib.nullcontext() if activation == "patch" else lazyentity.eager()
    with lazyentity.profile() as profile, eager:
        assert not is_lazy()
    counted = [(one.kind, one.entities, one.eager) for one in profile.report().kinds]
    assert counted == ([(KIND, 0, subject.entities)] if subject.counts_stock else [])
    assert not any(kind.properties for kind in profile.report().kinds)
