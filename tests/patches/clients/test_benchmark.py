"""Every client's benchmark: the smallest case of each kind is measured once."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity
from lazyentity.bench import clients
from lazyentity.bench.harness import QUICK, Case, measure
from tests.conftest import INSTALLED
from tests.support.benchmarks import ONCE

pytestmark = pytest.mark.usefixtures("only_new_objects", "kept_servers")

MOST = 30_000
"""Values of a case that is measured here: entities times properties."""


_ENOUGH = 10
"""Properties among which each type of a mix is."""


def _size(case: Case) -> int:
    return case.entities * case.properties


def _effort(case: Case) -> tuple[bool, int]:
    return case.properties < _ENOUGH, _size(case)


def _cases() -> Iterator[Case]:
    """The smallest of each kind, without those that are too large even so."""
    for name in clients.NAMES:
        if name in (*INSTALLED, "adapters"):
            kinds: dict[tuple[str, ...], list[Case]] = defaultdict(list)
            for case in clients.cases(name, QUICK):
                kinds[case.section, case.name, case.done].append(case)
            smallest = (min(kind, key=_effort) for kind in kinds.values())
            yield from (case for case in smallest if _size(case) <= MOST)


@pytest.mark.parametrize("case", list(_cases()), ids=str)
def test_each_case_is_measured(case: Case) -> None:
    """On both sides, whose results are compared; afterwards everything is as it was."""
    stubs: Any = sys.modules.get("google.appengine.api.apiproxy_stub_map")
    service = stubs and stubs.apiproxy
    line = measure(case, ONCE)
    named = line.section, line.case, line.entities, line.properties, line.done
    assert named == (case.section, case.name, case.entities, case.properties, case.done)
    assert min(line.stock.median, line.lazy.median, line.ratio.median) > 0
    assert not lazyentity.patched()
    assert (stubs and stubs.apiproxy) is service
