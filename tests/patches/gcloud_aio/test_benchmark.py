"""The benchmark of gcloud-aio-datastore, on small input."""

from __future__ import annotations

import pytest

import lazyentity
from lazyentity.bench.harness import verify
from lazyentity.bench.measure import ablation, page_tables, rest
from lazyentity.bench.measure.page_results import PageResults
from lazyentity.bench.report import readme
from tests.support.benchmarks import ONCE

pytestmark = [pytest.mark.any_backend, pytest.mark.usefixtures("kept_servers")]


def test_both_sides_read_the_same() -> None:
    with rest.loaded(5, 6) as call:
        stock, lazy = call.run("stock"), call.run("lazy")
        call.check(stock, lazy)
        with pytest.raises(verify.OutputMismatch):
            call.check(stock, lazy[1:])
        with pytest.raises(verify.OutputMismatch, match="entities"):
            call.check(stock[1:], lazy[1:])
    assert not lazyentity.patched()


def test_each_seam_is_removed_in_turn() -> None:
    subject = ablation.SUBJECTS["gcloud-aio"]()
    line = ablation.measure(subject, rest.QUERY, 6, ONCE)
    assert line.gains.keys() == {"datastore.Datastore._post", "entity.Entity.__init__"}
    *_, table = page_tables.tables(PageResults.of([line]))
    assert all(f"``{name}``" in readme.rendered(table) for name in line.gains)
    assert not lazyentity.patched()
