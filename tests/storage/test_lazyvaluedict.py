"""Dicts whose values are made when they are asked for, while another thread changes them."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable
from typing import Any

import pytest

from lazyentity.codec.undecoded import UNDECODED
from lazyentity.storage.lazyvaluedict import LazyValueDict
from tests.support.concurrency import together

MADE, ASSIGNED = "made", "assigned"


class _Computed(LazyValueDict):
    """A dict that calls a function when it makes a value."""

    __slots__ = ("act",)

    act: Callable[[], object]

    def _compute(self, name: Any) -> Any:
        self.act()
        return MADE


def _made(act: Callable[[], object] = lambda: None) -> _Computed:
    made = _Computed()
    made.act = act
    dict.update(made, dict.fromkeys(("a", "b", "c"), UNDECODED))
    return made


@pytest.mark.usefixtures("frequent_switches")
def test_another_thread_assigns_while_a_value_is_made() -> None:
    """The assigned value stays, and a name that was taken out does not come back."""
    for _ in range(30):
        dicts = [_made() for _ in range(2_000)]

        def work(number: int, dicts: Any = dicts) -> None:
            for each in dicts:
                if number:
                    each["a"] = ASSIGNED
                    del each["b"]
                else:
                    assert each["a"] in (MADE, ASSIGNED)
                    assert each.get("b") in (MADE, None)

        together(2, work)
        assert {each["a"] for each in dicts} == {ASSIGNED}
        assert not any("b" in each for each in dicts)


@pytest.mark.parametrize(
    "read",
    [lambda made: made["a"], lambda made: made.get("a"), lambda made: dict(made.items()).get("a")],
    ids=["item", "get", "items"],
)
def test_making_a_value_changes_the_dict(read: Callable[[Any], Any]) -> None:
    """As where another thread does it: what was assigned stays, what was deleted is gone."""
    made = _made()
    made.act = lambda: made.update(a=ASSIGNED, new=1)
    assert read(made) == ASSIGNED
    assert dict.get(made, "a") == ASSIGNED
    made = _made()
    made.act = lambda: made.pop("a") if dict.get(made, "a") is ASSIGNED else made.update(a=ASSIGNED)
    assert made.get("b") == MADE
    assert made.get("c") == MADE
    assert "a" not in made
    assert list(made) == ["b", "c"]


@pytest.mark.parametrize(
    "change",
    [
        lambda made: made.update(new=ASSIGNED),
        lambda made: made.pop("c", None),
        lambda made: made.update(dict.fromkeys(range(60), ASSIGNED)),
    ],
    ids=["added", "deleted", "grown"],
)
@pytest.mark.parametrize(
    "read",
    [
        lambda made: dict(made.items()),
        lambda made: dict(zip("ab", made.values(), strict=False)),
        lambda made: made.copy(),
        lambda made: made | {},
        lambda made: {} | made,
        lambda made: ast.literal_eval(repr(made)),
    ],
    ids=["items", "values", "copy", "or", "reflected or", "repr"],
)
@pytest.mark.parametrize("at", range(3))
def test_the_dict_changes_while_all_values_are_made(
    read: Callable[[Any], Any], change: Callable[[Any], object], at: int
) -> None:
    """Reading all values gives those that stay, and no error."""
    made = _made()
    numbers = itertools.count()
    made.act = lambda: change(made) if next(numbers) == at else None
    found = read(made)
    assert (found["a"], found["b"]) == (MADE, MADE)
