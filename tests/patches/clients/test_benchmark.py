"""Every client's benchmark: both sides of the smallest case of each kind."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

import lazyentity
from lazyentity._environment import ADAPTERS
from lazyentity.bench import clients
from lazyentity.bench.harness import QUICK, Case
from tests.conftest import INSTALLED

pytestmark = pytest.mark.usefixtures("only_new_objects", "kept_servers")

LARGE = 10_000
MOST = 30_000
"""Values of a case, entities times properties: of one that takes long, and of the largest here."""

_ENOUGH = 10
"""Properties among which each type of a mix is."""


def _size(case: Case) -> int:
    return case.entities * case.properties


def _effort(case: Case) -> tuple[bool, int]:
    return case.properties < _ENOUGH, _size(case)


def _cases() -> Iterator[Any]:
    """The smallest of each kind, without those that are too large even so."""
    for name in clients.NAMES:
        if name in (*INSTALLED, "adapters"):
            kinds: dict[tuple[str, ...], list[Case]] = defaultdict(list)
            for case in clients.cases(name, QUICK):
                kinds[case.section, case.name, case.done].append(case)
            smallest = (min(kind, key=_effort) for kind in kinds.values())
            for case in smallest:
                if _size(case) <= MOST:
                    yield pytest.param(case, marks=pytest.mark.slow if _size(case) > LARGE else ())


@pytest.mark.parametrize("case", list(_cases()), ids=str)
def test_both_sides_give_the_same(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Afterwards everything is as it was."""
    monkeypatch.delenv(ADAPTERS)
    stubs: Any = sys.modules.get("google.appengine.api.apiproxy_stub_map")
    service = stubs and stubs.apiproxy
    with case.make() as compared:
        stock = compared.stock()
        with compared.patched():
            lazy = compared.lazy()
        compared.check(stock, lazy)
    assert not lazyentity.patched()
    assert (stubs and stubs.apiproxy) is service
