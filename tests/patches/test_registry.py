"""Replacing and restoring: all or nothing, by identity, and never another library's replacement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

import lazyentity
from lazyentity.patches.registry import EitherSeam, Patch, Seam
from tests.patches.conftest import is_stock


@pytest.mark.parametrize(
    "names", [("nosuch",), ("datastore", "nosuch"), ("",), ("Datastore",)], ids=repr
)
@pytest.mark.parametrize("function", [lazyentity.patch, lazyentity.unpatch])
def test_unknown_names_are_refused(function: Callable[..., None], names: Any) -> None:
    """A name that is not known is a ValueError that lists those that are; nothing is changed."""
    with pytest.raises(ValueError, match=r"unknown client '.*'; known are .*'datastore'"):
        function(*names)
    assert is_stock()
    lazyentity.patch()
    with pytest.raises(ValueError, match="unknown client"):
        lazyentity.unpatch(*names)
    assert "datastore" in lazyentity.patched()


@pytest.mark.parametrize("failing", [0, 1])
def test_a_failure_while_replacing_is_rolled_back(failing: int) -> None:
    """If a replacement fails, those made before it are undone, and nothing is active."""

    class Target:
        first = "original first"
        second = "original second"

    before = dict(vars(Target))
    active: list[Callable[[], bool]] = []

    def replace(_original: str, is_active: Callable[[], bool]) -> str:
        if len(active) == failing:
            raise LookupError("cannot be replaced")
        active.append(is_active)
        return "replaced"

    with mock.patch(f"{__name__}.Target", Target, create=True):
        patch = Patch([Seam(__name__, f"Target.{name}", replace) for name in ("first", "second")])
        with pytest.raises(LookupError, match="cannot be replaced"):
            patch.apply()
    assert dict(vars(Target)) == before
    assert not patch.active
    assert len(active) == failing
    assert not any(is_active() for is_active in active)


@pytest.mark.parametrize("lacking", [None, "newer", "older"])
def test_the_first_of_two_seams_that_is_there(lacking: str | None) -> None:
    """Is replaced, and restored; if neither is there, the error names the second."""

    class Target:
        newer = "original newer"
        older = "original older"

    def seam(name: str) -> Seam:
        return Seam(__name__, f"Target.{name}", lambda original, _: f"replaced {original}")

    if lacking is not None:
        delattr(Target, lacking)
    before = dict(vars(Target))
    expected = "older" if lacking == "newer" else "newer"
    with mock.patch(f"{__name__}.Target", Target, create=True):
        patch = Patch([EitherSeam(seam("newer"), seam("older"))])
        patch.apply()
        (either,) = patch.seams
        assert str(either) == f"{__name__}.Target.{expected}"
        assert vars(Target)[expected] == f"replaced original {expected}"
        # Another version cannot be loaded while the replacement stands.
        patch.check()
        patch.revert()
        assert dict(vars(Target)) == before
        delattr(Target, expected)
        if lacking is not None:
            with pytest.raises(AttributeError, match="older"):
                patch.apply()
