"""Libraries of C code get from a lazy entity what they get from a stock one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lazyentity import LazyEntity
from lazyentity.patches.adapters.libraries import LIBRARIES
from tests.adapters import (
    uses_encoders,
    uses_functions,
    uses_hooks,
    uses_models,
    uses_others,
    uses_tables,
)
from tests.adapters.uses import Uses
from tests.entity.consumption import assert_consumed_alike

ALL: tuple[Uses, ...] = (
    *uses_encoders.USES,
    *uses_hooks.USES,
    *uses_models.USES,
    *uses_functions.USES,
    *uses_tables.USES,
)


def _cases(libraries: tuple[Uses, ...]) -> Iterator[Any]:
    for each in libraries:
        absent = pytest.mark.skip(f"{each.requires()} is not installed")
        marks = () if each.is_installed() else absent
        for name, use in each.possible().items():
            yield pytest.param(each, use, id=f"{each.distribution}: {name}", marks=marks)


pytestmark = pytest.mark.usefixtures("adapted")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("library", "use"), list(_cases((*ALL, *uses_others.USES))))
def test_same_result(lazy_type: type[LazyEntity], library: Uses, use: Callable[[Any], Any]) -> None:
    for read in ("nothing", "a property"):
        lazy = lazy_type.from_bytes(library.raw)
        if read == "a property":
            lazy["text"]
        assert_consumed_alike(use, lazy, library.raw)


def test_every_adapter_is_tested() -> None:
    """Nothing stands in the list that is not tested here."""
    tested = {each.distribution for each in ALL} | {"fastapi"}  # by test_service
    assert tested == {each.distribution for each in LIBRARIES}


def test_the_docs_list_what_is_tested() -> None:
    text = (Path(__file__).parents[2] / "docs" / "adapters.rst").read_text(encoding="utf-8")
    for library in LIBRARIES:
        name, tested = library.distribution or "xml.etree", library.tested or "any"
        assert re.search(rf"^{re.escape(name)} +{re.escape(tested)}  ", text, re.MULTILINE), name
    without = text.partition("Libraries that need none")[2]
    names = [each.distribution for each in uses_others.USES if each.distribution is not None]
    assert [name for name in names if name not in without] == []
