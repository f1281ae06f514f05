"""Libraries of C code get from a lazy entity what they get from a stock one, or raise."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity.patches.adapters.table import LIBRARIES
from tests.adapters.uses import ADAPTED, END, OTHERS, PAGE, START, Uses, listed, verdicts
from tests.entity.consumption import assert_consumed_alike


def _cases(libraries: tuple[Uses, ...]) -> Iterator[Any]:
    for each in libraries:
        absent = pytest.mark.skip(f"{each.module} is not installed")
        for name, use in each.uses.items():
            marks = () if each.is_installed() else absent
            yield pytest.param(use, each.raw, id=f"{each.module}: {name}", marks=marks)


@pytest.mark.usefixtures("adapted")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reads", [False, True], ids=["unread", "one read"])
@pytest.mark.parametrize(("use", "raw"), list(_cases(ADAPTED)))
def test_with_its_adapter(
    lazy_type: type[LazyEntity], use: Callable[[Any], Any], raw: bytes, reads: bool
) -> None:
    """The result, or the error, is that of the stock entity."""
    lazy = lazy_type.from_bytes(raw)
    if reads:
        lazy["text"]
    assert_consumed_alike(use, lazy, raw)


def test_the_page_has_the_verdicts() -> None:
    """Run ``python -m tests.adapters.uses`` to write them: no library is silent unknown to it.

    Libraries that are not installed here keep their place.
    """
    text = PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0]
    for verdict, names in listed(verdicts()).items():
        (found,) = re.findall(rf"^:{verdict}: (.*(?:\n   .*)*)", text, re.MULTILINE)
        assert set(names.split(", ")) <= set(" ".join(found.split()).split(", ")), verdict


def test_the_page_has_the_adapters() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for library in LIBRARIES:
        row = rf"^{re.escape(library.distribution)} +{re.escape(library.tested)}  "
        assert re.search(row, text, re.MULTILINE), library.distribution


def test_what_is_silent_is_adapted_or_cannot_be() -> None:
    """Types of cachebox, immutables and lru-dict take no attributes."""
    found = verdicts()
    silent = {name for name, verdict in found.items() if verdict == "silent"}
    assert silent - {each.module for each in ADAPTED} <= {"cachebox", "immutables", "lru"}
    assert {each.module for each in ADAPTED} == {library.distribution for library in LIBRARIES}
    assert not {each.module for each in OTHERS} & {each.module for each in ADAPTED}
